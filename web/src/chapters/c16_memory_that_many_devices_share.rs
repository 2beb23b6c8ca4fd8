//! Chapter 16: collective memory.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 16,
    slug: "memory-that-many-devices-share",
    title: "Memory that many devices share",
    question: "Before one GPU can write into another's memory, both must have said so. What if one of them comes late, or not at all?",
    figures: &["rendezvous", "reach"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(devices, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const RENDEZVOUS: &str = "Four devices that must agree";
const REACH: &str = "One address, seen from all";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::meeting::{Asked, MODULE, Setting, meet, reach};
    use crate::state::{Source, State};
    use crate::{engine, scene};
    let drawn = || {
        let opened = engine::open(&super::text_of(MODULE)).ok()?;
        let meeting = meet(&opened, Setting::FIRST)?;
        let first = State::new(Source::Shipped(MODULE.to_owned()));
        let found = reach(&opened, Asked::of(&first, &opened))?;
        Some(vec![
            super::Poster {
                figure: "rendezvous",
                title: RENDEZVOUS,
                caption: meeting.sentence(),
                class: "rendezvous",
                scene: scene::rendezvous(&meeting, meeting.count(), 900.0),
            },
            super::Poster {
                figure: "reach",
                title: REACH,
                caption: found.sentence(),
                class: "reach",
                scene: scene::reach(&found, 900.0).scene,
            },
        ])
    };
    drawn().unwrap_or_default()
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{REACH, RENDEZVOUS};
    use crate::figure::Figure;
    use crate::meeting::{self, Asked, DEVICES, MODULE, Meeting, Reach, Setting, TROUBLES, WAYS};
    use crate::scene::{self, Reached};
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule};
    use crate::views::choose::OneOf;
    use crate::views::drawn::Drawn;
    use crate::views::plot::{change, paint, point, width_of};
    use crate::views::scrubber::Scrubber;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, grouped};
    use leptos::ev::{Event, MouseEvent, PointerEvent};
    use leptos::html::Div;
    use leptos::prelude::*;
    use leptos::svg::Svg;

    /// Where what the compiler does was seen, and where the rest is from.
    const COMPILED: &str = "jaxlib 0.10.2, H100 target";
    const READ: &str = "XLA's public sources";

    #[derive(Clone, Copy)]
    struct Met(Memo<Option<Shared<Meeting>>>);

    #[derive(Clone, Copy)]
    struct Found(Memo<Option<Shared<Reach>>>);

    /// Sets a parameter; where it is what the figure begins with, there is none.
    fn choose(wb: Workbench, key: &'static str, to: &str, first: &str) {
        let mut next = wb.state.get_untracked();
        if to == first {
            next.params.remove(key);
        } else {
            next.params.insert(key.to_owned(), to.into());
        }
        // Another course has other moments.
        next.view.remove("moment");
        wb.set(next);
    }

    /// A phrase in the prose that breaks what it speaks of.
    #[component]
    fn Try(
        wb: Workbench,
        trouble: &'static str,
        #[prop(default = "symmetric")] way: &'static str,
        children: Children,
    ) -> impl IntoView {
        let is_shown = move || {
            let now = wb.state.with(Setting::of);
            TROUBLES[now.trouble].id == trouble && WAYS[now.way].id == way
        };
        let show = move |_| {
            let mut next = wb.state.get_untracked();
            next.params.clear();
            next.view.remove("moment");
            if trouble != TROUBLES[0].id {
                next.params.insert("trouble".to_owned(), trouble.into());
            }
            if way != WAYS[0].id {
                next.params.insert("way".to_owned(), way.into());
            }
            wb.set(next);
        };
        view! {
            <button type="button" class="term" aria-pressed=move || is_shown().to_string() on:click=show>
                {children()}
            </button>
        }
    }

    pub fn chapter() -> AnyView {
        let source = || State::new(Source::Shipped(MODULE.to_owned()));
        let wb = Workbench::for_figure("rendezvous", source());
        let rb = Workbench::for_figure("reach", source());
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let met =
            Memo::new(move |_| wb.base.with(|b| meeting::meet(b.as_ref()?, setting.get()).map(Shared::new)));
        let found = Memo::new(move |_| {
            rb.base.with(|b| {
                let opened = b.as_ref()?;
                meeting::reach(opened, rb.state.with(|s| Asked::of(s, opened))).map(Shared::new)
            })
        });
        provide_context(Met(met));
        provide_context(Found(found));
        wb.say_with(move || met.get().map_or_else(String::new, |m| m.sentence()));
        rb.say_with(move || found.get().map_or_else(String::new, |f| f.sentence()));
        let other_order = Memo::new(move |_| {
            let trouble = TROUBLES.iter().position(|t| t.id == "order")?;
            wb.base
                .with(|b| meeting::meet(b.as_ref()?, Setting { trouble, ..Setting::FIRST }).map(Shared::new))
        });
        let puzzle = move || {
            let met = met.get()?;
            let (ready, all) = met.ready();
            let is_it = TROUBLES[met.setting.trouble].id == "size";
            let what = if is_it { "The sizes differ" } else { "The sizes are the same" };
            let progress = format!("{what}, and {ready} of {all} devices have what they asked for.");
            Some(PuzzleResult { solved: met.solves(), progress })
        };
        view! {
            <p>
                "A sum over four GPUs is faster if each can read and write the memory of the others directly. For that, the memory "
                "must be made reachable before the program runs. Which memory, the compiler says: what a collective instruction "
                "reads and writes gets colour 1, and so an allocation of its own (chapter 7). XLA calls it "
                <dfn>"collective memory"</dfn> ". " <Rule section="17" verified=COMPILED />
            </p>
            <p>
                "The devices that take part in one collective are a " <dfn>"clique"</dfn> "; a device's place in it is its "
                <dfn>"rank"</dfn> ". There are three ways to make memory reachable. " <dfn>"Symmetric"</dfn>
                ": the allocation is registered with the clique's communicator (the object of the communication library, NCCL, through "
                "which its ranks exchange data), on each rank the same. " <dfn>"Multicast"</dfn>
                ": one object is made, and what is written through it arrives on every rank. " <dfn>"Peer"</dfn>
                ": each rank learns the addresses of the others. Which way, the code that carries out an instruction asks for, before the "
                "run; here you choose, to compare them. All three are collective calls: they are done when every rank of the clique "
                "has made them, and the meeting is called a " <dfn>"rendezvous"</dfn> ". " <Rule section="17.1" read_in=READ />
            </p>
            <Predict
                wb
                id="order"
                question="In the program below each device is in two cliques, and asks for both. Suppose device 1 asks for its second clique first. All still ask for the same things. How many of the four devices get what they asked for?"
                options=Signal::derive(|| {
                    ["All four: the order does not matter", "Three: only device 1 gets an error", "Two", "None"]
                        .map(str::to_owned)
                        .to_vec()
                })
                answer=Signal::derive(move || {
                    Some(
                        match other_order.get()?.ready().0 {
                            4 => 0,
                            3 => 1,
                            0 => 3,
                            _ => 2,
                        },
                    )
                })
                explain=Callback::new(move |_: usize| {
                    other_order.get_untracked().map_or_else(String::new, |m| m.sentence())
                })
            />
            <Figure
                wb
                title=RENDEZVOUS
                caption="A column is a device with its allocations, as the module has them; what others must reach is outlined. Below is the board: a row is a meeting, with its number and its clique, and a seat for each device of it. Step through it, then break it."
                reserve=[690, 745, 840]
                table=MeetingTable
            >
                <MeetingFigure />
            </Figure>
            <Puzzle
                id="sizes"
                goal="make the allocation smaller on one device, and find a way of reaching it that works all the same."
                check=Signal::derive(puzzle)
                hint="Two of the ways make one thing of all the allocations. The third only tells where each of them is."
            />
            <p>
                "The board is how ranks find each other: a place on it has the run, the kind of meeting, a number and the clique. A "
                "rank at a different place waits for ranks that never come there. " <Try wb trouble="never">"A rank that never comes"</Try>
                " leaves its cliques waiting. What becomes of them in XLA, this page has not checked; the figure gives up after 20 turns "
                "and says who waited in vain for whom. " <Try wb trouble="late">"One that is late"</Try>
                " does no harm while it is waited for; " <Try wb trouble="too-late">"one that comes after that"</Try>
                " is no better than one that never comes. "
                <Rule section="17.2" read_in=READ />
            </p>
            <p>
                "All ranks sort their requests the same way: larger cliques first, then those that were asked for earlier. The number on "
                "the board is the place of a request in the order of asking, from 0; registrations are counted for each clique "
                "instead. A rank that " <Try wb trouble="order">"asks in another order"</Try>
                " counts differently, and stands at a place to which nobody else comes. No rank has made an error of its own, and "
                "still none of them gets on. Nothing on one device can detect it. " <Rule section="17.1" read_in=READ />
            </p>
            <p>
                "When all have come, they must agree. " <Try wb trouble="size">"Another size"</Try>
                " on one rank is an error for all ranks of the clique in which it is met: an object that is one for all has one size. The "
                "error spreads. Devices 0 and 2 agree, and still wait in vain: in their second cliques they wait for devices 1 and 3, "
                "which have failed. Only peer does not mind, since addresses can be told whatever the sizes. "
                <Try wb trouble="process" way="multicast">"Another process"</Try>
                " cannot be reached by multicast or by address, since both stop at the end of a process; "
                <Try wb trouble="process">"registration"</Try> " goes further. " <Rule section="17.2" read_in=READ />
            </p>
            <p>
                "Registering takes time, so registrations are kept from run to run. If the allocation has "
                <Try wb trouble="moved">"moved on one rank"</Try>
                ", that rank alone lacks one. But registering is a collective call. So the ranks of a process first take a "
                <dfn>"vote"</dfn>
                ": each says what it lacks, and what any of them lacks all register. Before XLA did so, each rank decided by itself, "
                "and the one that lacked something " <Try wb trouble="moved-alone">"waited for the others"</Try>
                ", who were done. " <Rule section="17.3" read_in=READ />
            </p>
            <Figure
                wb=rb
                title=REACH
                caption="The memory of each device, larger allocations drawn larger. Point at a byte, tap it, or choose it below: the same byte is marked on the others, with the pointer by which it is reached there."
                reserve=[585, 585, 850]
                table=ReachTable
            >
                <ReachFigure />
            </Figure>
            <p>
                "What a rank has been given at the meetings, it keeps in tables, by clique and allocation: registrations, pointers, "
                "addresses. A kernel has an address on its own device. It is turned into an allocation and an offset; the offset is "
                "the same on each rank, the addresses are not. If one physical range is behind several allocations, it is registered as "
                "one, and the offset counts from its beginning. A multicast object has a pointer of its own on each rank. Allocations "
                "that nobody asked for, and devices without a common clique, are not found: that is a mistake that shows only when "
                "the program runs. " <Rule section="17.4" read_in=READ />
            </p>
        }
        .into_any()
    }

    #[component]
    fn MeetingFigure() -> impl IntoView {
        let wb = use_workbench();
        let Met(met) = expect_context();
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let last = Memo::new(move |_| met.get().map_or(0, |m| m.count() as u32));
        let moment = Memo::new(move |_| {
            let told = wb.state.with(|s| s.number("moment")).and_then(|n| u32::try_from(n).ok());
            told.unwrap_or(u32::MAX).min(last.get())
        });
        let sentence = move || met.get().map_or_else(String::new, |m| m.sentence());
        let words = move || met.get().map_or_else(String::new, |m| m.words(moment.get() as usize));
        let said = move || format!("event {} of {}", moment.get(), last.get());
        let needs = move || {
            wb.base
                .with(|b| b.as_ref().map(|b| meeting::needs(b)))
                .unwrap_or_default()
                .into_iter()
                .map(|n| {
                    format!(
                        "{} needs allocation {}, {}, on {}",
                        n.instruction,
                        n.allocation,
                        bytes(n.size),
                        n.cliques
                    )
                })
                .collect::<Vec<_>>()
                .join("; ")
        };
        let results = move || {
            let met = met.get()?;
            let rows = met.results().map(|(device, error)| {
                view! {
                    <li data-device=device.to_string() class:bad=error.is_some()>
                        <b>{format!("Device {device}: ")}</b>
                        {met.result_words(error)}
                    </li>
                }
            });
            Some(rows.collect_view())
        };
        view! {
            <div
                class="meeting"
                data-moment=move || moment.get().to_string()
                data-ready=move || met.get().map(|m| m.ready().0.to_string())
            >
                <p class="quiet" data-said="needs">{needs} "."</p>
                <div class="choices-row">
                    <OneOf
                        label="Way"
                        options=WAYS.iter().map(|w| (w.id, format!("{}: {}", w.id, w.about))).collect()
                        now=Signal::derive(move || WAYS[setting.get().way].id)
                        choose=Callback::new(move |id: String| choose(wb, "way", &id, WAYS[0].id))
                    />
                    <OneOf
                        label="What goes wrong"
                        options=TROUBLES.iter().map(|o| (o.id, o.title.to_owned())).collect()
                        now=Signal::derive(move || TROUBLES[setting.get().trouble].id)
                        choose=Callback::new(move |id: String| choose(wb, "trouble", &id, TROUBLES[0].id))
                    />
                    <label class="field">
                        "with device"
                        <select
                            class="short"
                            disabled=move || setting.get().trouble == 0
                            on:change=move |e: Event| {
                                if let Ok(device) = event_target_value(&e).parse::<i64>() {
                                    let mut next = wb.state.get_untracked();
                                    next.params.insert("device".to_owned(), device.into());
                                    next.view.remove("moment");
                                    wb.set(next);
                                }
                            }
                        >
                            {(0..DEVICES)
                                .map(|n| {
                                    view! {
                                        <option value=n.to_string() selected=move || setting.get().device == n>
                                            {n}
                                        </option>
                                    }
                                })
                                .collect_view()}
                        </select>
                    </label>
                </div>
                <p class="quiet">{move || TROUBLES[setting.get().trouble].about}</p>
                <p class="answer" data-said="meeting">{sentence}</p>
                <Scrubber
                    label="Event"
                    value=moment
                    last
                    said=Signal::derive(said)
                    step=Callback::new(move |(from, forward): (u32, bool)| {
                        if forward { (from + 1).min(last.get_untracked()) } else { from.saturating_sub(1) }
                    })
                    set=Callback::new(move |to: u32| wb.set_view("moment", i64::from(to)))
                />
                <p class="now" role="status" data-said="event">{words}</p>
                <Drawn
                    wb
                    title=RENDEZVOUS
                    class="rendezvous"
                    said=Signal::derive(sentence)
                    scene=Callback::new(move |width: f64| {
                        Some(scene::rendezvous(&*met.get()?, moment.get() as usize, width))
                    })
                />
                <ul class="results" aria-label="What each device has in the end">{results}</ul>
            </div>
        }
    }

    /// The figure as tables: the events in order, and the allocations.
    #[component]
    fn MeetingTable() -> impl IntoView {
        let Met(met) = expect_context();
        let events = move || {
            let met = met.get()?;
            let rows = (1..=met.count()).map(|n| {
                view! {
                    <tr>
                        <th scope="row" class="n">{n}</th>
                        <td>{met.words(n)}</td>
                    </tr>
                }
            });
            Some(rows.collect_view())
        };
        view! {
            <table>
                <caption>"The events in their order"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Event"</th>
                        <th scope="col">"What happens"</th>
                    </tr>
                </thead>
                <tbody>{events}</tbody>
            </table>
            <AllocationTable devices=Signal::derive(move || {
                met.get().map_or_else(Vec::new, |m| m.outcome.devices.clone())
            }) />
        }
    }

    #[component]
    fn AllocationTable(#[prop(into)] devices: Signal<Vec<collective::Device>>) -> impl IntoView {
        let rows = move || {
            devices
                .get()
                .into_iter()
                .flat_map(|d| {
                    d.allocations.into_iter().enumerate().map(move |(n, a)| {
                        view! {
                            <tr>
                                <th scope="row" class="n">{d.id}</th>
                                <td class="n">{n}</td>
                                <td class="n code">{format!("{:#x}", a.address)}</td>
                                <td class="n">{grouped(a.size)}</td>
                            </tr>
                        }
                    })
                })
                .collect_view()
        };
        view! {
            <table>
                <caption>"The allocations of each device, at the end"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Device"</th>
                        <th scope="col" class="n">"Allocation"</th>
                        <th scope="col" class="n">"Address"</th>
                        <th scope="col" class="n">"Bytes"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }

    /// Looks at a byte. While the pointer only passes by, nothing is kept.
    fn look(wb: Workbench, device: u32, allocation: usize, offset: u64) {
        let mut next = wb.state.get_untracked();
        next.params.insert("device".to_owned(), i64::from(device).into());
        next.params.insert("allocation".to_owned(), (allocation as i64).into());
        next.params.insert("offset".to_owned(), i64::try_from(offset).unwrap_or(i64::MAX).into());
        wb.set(next);
    }

    #[component]
    fn ReachFigure() -> impl IntoView {
        let wb = use_workbench();
        let Found(found) = expect_context();
        // The byte under the pointer.
        let passing = RwSignal::new(None::<(u32, usize, u64)>);
        let shown = Memo::new(move |_| {
            let kept = found.get()?;
            let Some((device, allocation, offset)) = passing.get() else { return Some(kept) };
            let asked = Asked { device, allocation, offset, ..kept.asked };
            wb.base.with(|b| meeting::reach(b.as_ref()?, asked).map(Shared::new))
        });
        let asked = Memo::new(move |_| found.get().map(|f| f.asked));
        let size = Memo::new(move |_| {
            let found = found.get()?;
            Some(found.scenario.device(found.asked.device)?.allocations.get(found.asked.allocation)?.size)
        });
        let sentence = move || shown.get().map_or_else(String::new, |f| f.sentence());
        let way = Memo::new(move |_| asked.get().map_or(0, |a| a.way));
        let options = Memo::new(move |_| {
            found.get().map_or_else(Vec::new, |f| {
                let of = |d: &collective::Device| {
                    let id = d.id;
                    (0..d.allocations.len()).map(move |a| (id, a)).collect::<Vec<_>>()
                };
                f.scenario.devices.iter().flat_map(of).collect::<Vec<_>>()
            })
        });
        let is_at = move |device: u32, allocation: usize| {
            asked.get().is_some_and(|a| a.device == device && a.allocation == allocation)
        };
        let seen = move || {
            let found = shown.get()?;
            let rows = found.seen.iter().map(|s| {
                view! {
                    <li data-device=s.device.to_string()>
                        <b>{format!("Device {}: ", s.device)}</b>
                        {s.words()}
                        {s.pointer.map(|p| view! { "; pointer " <span class="code">{format!("{p:#x}")}</span> })}
                    </li>
                }
            });
            Some(rows.collect_view())
        };
        let offset = move || asked.get().map_or(0, |a| a.offset);
        let last = move || size.get().map_or(0, |s| s.saturating_sub(1));
        let at_least = move || offset() == 0;
        let at_most = move || offset() >= last();
        let stride = move || (size.get().unwrap_or(1) / 16).max(1);
        let go = move |to: u64, settle: bool| {
            wb.preview_param("offset", i64::try_from(to.min(untrack(last))).unwrap_or(i64::MAX));
            if settle {
                wb.settle();
            }
        };
        view! {
            <div class="reaching" data-address=move || shown.get().map(|f| format!("{:#x}", f.address))>
                <p class="answer" data-said="reach">{sentence}</p>
                <div class="choices-row">
                    <OneOf
                        label="Way"
                        options=WAYS.iter().map(|w| (w.id, w.id.to_owned())).collect()
                        now=Signal::derive(move || WAYS[way.get()].id)
                        choose=Callback::new(move |id: String| choose(wb, "way", &id, WAYS[0].id))
                    />
                    <label class="field">
                        "Address in"
                        <select on:change=move |e: Event| {
                            let value = event_target_value(&e);
                            let parts = value.split_once('.');
                            if let Some((Ok(d), Ok(a))) = parts.map(|(d, a)| (d.parse(), a.parse())) {
                                look(wb, d, a, 0);
                            }
                        }>
                            <For each=move || options.get() key=Clone::clone let((device, allocation))>
                                <option
                                    value=format!("{device}.{allocation}")
                                    selected=move || is_at(device, allocation)
                                >
                                    {format!("device {device}, allocation {allocation}")}
                                </option>
                            </For>
                        </select>
                    </label>
                    <label class="check">
                        <input
                            type="checkbox"
                            prop:checked=move || asked.get().is_some_and(|a| a.one_range)
                            on:change=move |e| {
                                let mut next = wb.state.get_untracked();
                                if event_target_checked(&e) {
                                    next.params.insert("range".to_owned(), 1.into());
                                } else {
                                    next.params.remove("range");
                                }
                                wb.set(next);
                            }
                        />
                        "one physical range behind all (only symmetric goes by it)"
                    </label>
                </div>
                <div class="percent">
                    <label for="reach-offset">"Byte"</label>
                    <button
                        type="button"
                        aria-label="Byte: less"
                        disabled=at_least
                        on:click=move |_| go(untrack(offset).saturating_sub(untrack(stride)), true)
                    >
                        "−"
                    </button>
                    <input
                        id="reach-offset"
                        type="range"
                        min="0"
                        max=move || last().to_string()
                        prop:value=move || offset().to_string()
                        aria-valuetext=move || format!("byte {} of {}", offset(), last())
                        on:input=move |e: Event| {
                            if let Ok(to) = event_target_value(&e).parse() {
                                go(to, false);
                            }
                        }
                        on:change=move |_| wb.settle()
                    />
                    <button
                        type="button"
                        aria-label="Byte: more"
                        disabled=at_most
                        on:click=move |_| go(untrack(offset) + untrack(stride), true)
                    >
                        "+"
                    </button>
                    <output for="reach-offset">{move || format!("byte {} of {}", grouped(offset()), grouped(last()))}</output>
                </div>
                <ReachPlot shown passing />
                <ul class="results" aria-label="The byte on each device">{seen}</ul>
            </div>
        }
    }

    #[component]
    fn ReachPlot(
        shown: Memo<Option<Shared<Reach>>>,
        passing: RwSignal<Option<(u32, usize, u64)>>,
    ) -> impl IntoView {
        let wb = use_workbench();
        let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
        let width = width_of(plot);
        let layout = Memo::new(move |_| {
            let width = width.get();
            (width > 0.0).then(|| shown.get()).flatten().map(|r| Shared::new(scene::reach(&r, width)))
        });
        paint(wb, REACH, svg, layout, |r: &Reached| &r.scene);
        let at = move |x: f64, y: f64| {
            let answer = shown.get_untracked()?;
            layout.with_untracked(|l| l.as_ref()?.at(&answer.scenario.devices, x, y))
        };
        let moved = move |e: PointerEvent| {
            // A finger has no place to pass by.
            if e.pointer_type() != "touch"
                && let Some((x, y)) = point(&e, plot)
            {
                change(passing, at(x, y));
            }
        };
        let clicked = move |e: MouseEvent| {
            let Some((x, y)) = point(&e, plot) else { return };
            if let Some((device, allocation, offset)) = at(x, y) {
                look(wb, device, allocation, offset);
            }
        };
        let said = move || shown.get().map_or_else(String::new, |f| f.sentence());
        view! {
            <div class="reach">
                <div
                    class="plot"
                    node_ref=plot
                    on:pointermove=moved
                    on:pointerleave=move |_| change(passing, None)
                    on:click=clicked
                >
                    <svg node_ref=svg role="img" aria-label=said></svg>
                </div>
            </div>
        }
    }

    #[component]
    fn ReachTable() -> impl IntoView {
        let Found(found) = expect_context();
        let rows = move || {
            let found = found.get()?;
            let rows = found.seen.iter().map(|s| {
                view! {
                    <tr>
                        <th scope="row" class="n">{s.device}</th>
                        <td>{s.words()}</td>
                        <td class="n code">{s.pointer.map(|p| format!("{p:#x}"))}</td>
                    </tr>
                }
            });
            Some(rows.collect_view())
        };
        view! {
            <table>
                <caption>"The byte on each device"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Device"</th>
                        <th scope="col">"What the look-up finds"</th>
                        <th scope="col" class="n">"Pointer"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
            <AllocationTable devices=Signal::derive(move || {
                found.get().map_or_else(Vec::new, |f| f.scenario.devices.clone())
            }) />
        }
    }
}
