//! Chapter 18: slices of a command buffer, copied or remapped.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 18,
    slug: "copy-or-remap",
    title: "Copy or remap",
    question: "Recorded work knows its addresses by heart. What if the memory is elsewhere in the next step?",
    figures: &["cutoff", "churn"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(devices, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const CUTOFF: &str = "What is copied, what is remapped";
const CHURN: &str = "Many steps, and five rules";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::remapping::{MODULE, Setting, Trial, course, plan, slices};
    use crate::{engine, scene};
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let slices = slices(&opened);
    let plan = plan(&slices, Setting::FIRST);
    let course = course(&slices, Trial::FIRST);
    vec![
        super::Poster {
            figure: "cutoff",
            title: CUTOFF,
            caption: plan.sentence(),
            class: "cutoff",
            scene: scene::cutoff(&plan, plan.chosen(None), 900.0),
        },
        super::Poster {
            figure: "churn",
            title: CHURN,
            caption: course.sentence(),
            class: "churn",
            scene: scene::churn(&course, course.chosen(None), 900.0),
        },
    ]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{CHURN, CUTOFF};
    use crate::figure::Figure;
    use crate::remapping::{
        self, BANDWIDTHS, CASES, Course, DRIFTS, FREE, MODULE, POLICIES, Plan, REMAPS, STEPS, Setting, Slice,
        Trial, micros,
    };
    use crate::scene;
    use crate::state::{Selection, Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::views::drawn::Drawn;
    use crate::views::scrubber::Scrubber;
    use crate::views::slider::Slider;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{binary, bytes, grouped};
    use leptos::ev::Event;
    use leptos::prelude::*;
    use remap::Limit;

    /// Where the rules are from.
    const SOURCE: &str = "XLA's pull request 926";

    type Slices = Memo<Option<Shared<Vec<Slice>>>>;

    fn slices_of(wb: Workbench) -> Slices {
        Memo::new(move |_| wb.base.with(|b| Some(Shared::new(remapping::slices(b.as_ref()?)))))
    }

    /// What the state selects, as a number.
    fn selected(wb: Workbench) -> Option<u32> {
        wb.state.with(|s| match s.selection {
            Selection::Value(n) => Some(n),
            _ => None,
        })
    }

    /// The answers of both figures, made once for all that show them.
    #[derive(Clone, Copy)]
    struct Decided(Memo<Option<Shared<Plan>>>);

    #[derive(Clone, Copy)]
    struct Played(Memo<Option<Shared<Course>>>);

    pub fn chapter() -> AnyView {
        let source = || State::new(Source::Shipped(MODULE.to_owned()));
        let wb = Workbench::for_figure("cutoff", source());
        let cb = Workbench::for_figure("churn", source());
        let (slices, course_slices) = (slices_of(wb), slices_of(cb));
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let plan = Memo::new(move |_| Some(Shared::new(remapping::plan(&slices.get()?, setting.get()))));
        let trial = Memo::new(move |_| cb.state.with(Trial::of));
        let course =
            Memo::new(move |_| Some(Shared::new(remapping::course(&course_slices.get()?, trial.get()))));
        provide_context(Decided(plan));
        provide_context(Played(course));
        wb.say_with(move || plan.get().map_or_else(String::new, |p| p.sentence()));
        cb.say_with(move || course.get().map_or_else(String::new, |c| c.sentence()));
        let first = Memo::new(move |_| Some(Shared::new(remapping::plan(&slices.get()?, Setting::FIRST))));
        let limits = [Limit::Slice, Limit::StepTime, Limit::Memory];
        let everything = move || {
            let plan = plan.get()?;
            let progress = format!(
                "{} of {} slices are copied, and {} of addresses are reserved.",
                plan.decision.copied.len(),
                plan.slices.len(),
                binary(plan.decision.reservation)
            );
            Some(PuzzleResult { solved: plan.solves(), progress })
        };
        let best = Memo::new(move |_| remapping::fastest(&course_slices.get()?));
        let falling = move || {
            let (course, best) = (course.get()?, best.get()?);
            let Trial { case, kept, drift } = course.trial;
            if case != 0 || kept {
                return Some(PuzzleResult {
                    solved: false,
                    progress: "The rule that the cutoff is found once has to be switched off.".to_owned(),
                });
            }
            let progress = format!(
                "The free memory: {}. {}",
                remapping::drift_words(course.trial.drift()),
                course.sentence()
            );
            Some(PuzzleResult { solved: drift == best, progress })
        };
        // What a phrase of the prose speaks of, with the setting that it speaks of.
        let show = move |free: usize, slice: Option<u32>| {
            let mut next = wb.state.get_untracked();
            for key in ["policy", "bandwidth", "free", "remap"] {
                next.params.remove(key);
            }
            if free != Setting::FIRST.free {
                next.params.insert("free".to_owned(), (free as i64).into());
            }
            next.selection = slice.map_or(Selection::Suggested, Selection::Value);
            wb.set(next);
        };
        // The slice of an allocation, by XLA's number.
        let of = move |allocation: u32| {
            Signal::derive(move || {
                let at = slices.get()?.iter().position(|s| s.allocation == allocation)?;
                Some(at as u32)
            })
        };
        let third = Signal::derive(move || remapping::refused(&slices.get()?).map(|n| n as u32));
        let largest = Callback::new(move |()| show(Setting::FIRST.free, of(0).get_untracked()));
        let of_one_size = Callback::new(move |()| show(remapping::TIGHT, third.get_untracked()));
        view! {
            <p>
                "A GPU can be handed a whole list of work at once. The list is recorded once and run again in each step. CUDA calls "
                "it a graph; XLA calls it a " <dfn>"command buffer"</dfn>
                ". The addresses are recorded with it: read here, write there. But before the next step the runtime may give the "
                "same data other memory. The recorded list would then read and write what is no longer its own. A "
                <dfn>"slice"</dfn> " is memory whose address was recorded; in this chapter, a whole allocation. " <Rule section="16" read_in=SOURCE />
            </p>
            <p>
                "There are two ways out. One is to " <dfn>"remap"</dfn>
                ": reserve a range of virtual addresses, record those, and before each step make them show the memory that the "
                "slice has now. That is a call to the driver. It costs about the same for four bytes as for a gigabyte. For each "
                "slice the addresses are rounded up, here to 2 MiB, so more are reserved than the slices have bytes. The other is "
                "to " <dfn>"copy"</dfn> ": give the slice a second buffer that never moves, its " <dfn>"shadow"</dfn>
                ", copy the slice there before the work and back after it. That costs more the larger the slice is, since each byte "
                "moves twice. So small slices should be copied and large ones remapped. The size between the two is the "
                <dfn>"cutoff"</dfn> ". " <Rule section="16.1" read_in=SOURCE />
            </p>
            <Predict
                wb
                id="limit"
                question="The module below trains one layer: its slices have from 4 bytes to 69 MiB. The cutoff is found by a walk from the smallest slice up. What ends the walk first?"
                options=Signal::derive(|| {
                    [
                        "One slice would take longer to copy than to remap",
                        "All copies together would take too long",
                        "All copies together would move more than a hundredth of the free memory",
                    ]
                        .map(str::to_owned)
                        .to_vec()
                })
                answer=Signal::derive(move || {
                    let limit = first.get()?.limit()?;
                    limits.iter().position(|l| *l == limit)
                })
                explain=Callback::new(move |_: usize| {
                    first.get_untracked().map_or_else(String::new, |p| p.words(p.chosen(None)))
                })
            />
            <Figure
                wb
                title=CUTOFF
                caption="Each column is a slice: an allocation of a real training step, compiled for an H100. Above its size, where each line is 1,024 times the one below; below it what copying all so far would move. Lines across are limits; the upright one is the cutoff. Set the device with the sliders; choose how the cutoff is found."
                reserve=[890, 1040, 1205]
                table=CutoffTable
            >
                <CutoffFigure />
            </Figure>
            <Puzzle
                id="everything"
                goal="let one of the automatic rules copy everything, so that no addresses are reserved at all."
                check=Signal::derive(everything)
                hint="The largest slice must be worth its copy, and all of them must fit their budget. One of the two rules drops a limit when a remap is dear."
            />
            <p>
                "The walk stops at the first slice whose copy would take longer than 8 µs, which is what a remap is taken to cost. It "
                "also stops when all copies so far would take longer than 15 µs, or would move more than a hundredth of the free "
                "memory, there and back. The last size that was admitted is the cutoff. "
                <Term wb value="The largest weight" number=of(0) choose=largest />
                " is refused by the first limit. With 3 GiB free the third of "
                <Term wb value="three weights of one size" number=third choose=of_one_size />
                " is refused by the last one, and copied all the same: whoever asks later only compares sizes, and its size is not "
                "over the cutoff. " <Rule section="16.1" read_in=SOURCE />
            </p>
            <p>
                "The squares on the right were measured elsewhere, not by this page: by those who proposed the change to XLA, with "
                "Llama 2 7B on eight MI300X, over 30 steps. They are milliseconds of a whole step of another program, so compare "
                "them only with each other: off is slow, and among the cutoffs it hardly matters which. What is saved are calls to the "
                "driver. If eight devices wait for each other's calls: 12 ms saved ÷ (8 devices × 8 µs) ≈ 190 remaps no longer made. "
                <Rule section="16" read_in=SOURCE />
            </p>
            <p>
                "What a remap costs can also be measured first: that is " <dfn>"calibration"</dfn>
                ". Auto does not listen to the third slider; Auto, calibrated does. It also drops the limit of 15 µs for all copies: only "
                "the memory bounds them, if it is known. A reviewer objected to it: a measured cutoff is another one in each "
                "run, and so is the program's time. " <Rule section="16.1" read_in=SOURCE />
            </p>
            <p>
                "The cutoff is decided when the list is recorded, and what is recorded stays. So the decision must stay, too, and "
                "all that hangs on it. Five rules see to that. Each of them was once missing, and was found by a reader of the "
                "code. " <Rule section="16.3" read_in=SOURCE />
            </p>
            <ul>
                <li>
                    <b>"Find the cutoff once."</b>
                    " Found anew in each step, it falls with the free memory. A slice that was to be copied is then remapped, but no "
                    "addresses were reserved for it: the last slice is mapped past the end, over whatever is there."
                </li>
                <li>
                    <b>"Give set-up a flag of its own."</b>
                    " If everything is copied there is never a range, and “is there a range?” is the wrong question. Set-up would run in "
                    "each step and replace the event it made before, which the device may still be waiting for."
                </li>
                <li>
                    <b>"Free the shadows with their range."</b> " Nothing else owns them. What is not freed then is lost for good."
                </li>
                <li>
                    <b>"Use a shadow again only if it is large enough."</b>
                    " If more is needed than the shadow has room for, as with a longer batch, a copy into it writes over its neighbour."
                </li>
                <li>
                    <b>"Go by the size alone."</b>
                    " Of equal slices, the walk admits those that it meets first. If that decides, others are copied in each step, and "
                    "the recorded address is that of the wrong memory."
                </li>
            </ul>
            <Predict
                wb=cb
                id="guard"
                question="Setting up reserves the addresses and makes an event to wait for. Suppose it runs whenever no addresses are reserved yet. In which program does it run again in every step?"
                options=Signal::derive(|| {
                    [
                        "In one whose slices are all copied",
                        "In one whose slices are all remapped",
                        "In both",
                    ]
                        .map(str::to_owned)
                        .to_vec()
                })
                answer=Signal::derive(move || {
                    Some(
                        match remapping::set_up_again(&course_slices.get()?) {
                            [true, false] => 0,
                            [false, true] => 1,
                            _ => 2,
                        },
                    )
                })
                explain=Callback::new(move |_: usize| {
                    course_slices
                        .get_untracked()
                        .map_or_else(
                            String::new,
                            |s| remapping::course(&s, Trial { case: 1, ..Trial::BROKEN }).sentence(),
                        )
                })
            />
            <Figure
                wb=cb
                title=CHURN
                caption="The same slices over 24 steps; in each, the memory behind them is another one. Choose a rule, switch it off, and step through what goes wrong."
                reserve=[730, 750, 965]
                table=ChurnTable
            >
                <ChurnFigure />
            </Figure>
            <Puzzle
                id="falling"
                goal="with the first rule switched off, let the free memory fall as fast as it can without anything going wrong in the 24 steps."
                check=Signal::derive(falling)
                hint="The cutoff falls once a hundredth of the free memory is less than what the copies move: 51,405,016 bytes."
            />
        }
        .into_any()
    }

    /// Sets a parameter; where it is what the figure begins with, there is none.
    fn choose(wb: Workbench, key: &'static str, to: &str, first: &str) {
        let mut next = wb.state.get_untracked();
        if to == first {
            next.params.remove(key);
        } else {
            next.params.insert(key.to_owned(), to.into());
        }
        wb.set(next);
    }

    #[component]
    fn CutoffFigure() -> impl IntoView {
        let wb = use_workbench();
        let Decided(plan) = expect_context();
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let sentence = move || plan.get().map_or_else(String::new, |p| p.sentence());
        let chosen = Memo::new(move |_| plan.get().map_or(0, |p| p.chosen(selected(wb))));
        let words = move || plan.get().map_or_else(String::new, |p| p.words(chosen.get()));
        let bandwidth =
            Signal::derive(move || format!("{} GB/s", grouped(BANDWIDTHS[setting.get().bandwidth])));
        let free = Signal::derive(move || binary(setting.get().free()));
        let remap = Signal::derive(move || format!("{} µs", setting.get().remap()));
        let first = Setting::FIRST;
        let options = Memo::new(move |_| {
            plan.get().map_or_else(Vec::new, |p| {
                p.order.iter().map(|n| (*n, p.slices[*n].clone())).collect::<Vec<_>>()
            })
        });
        let go = move |by: isize| {
            let all = options.get_untracked();
            let at = all.iter().position(|(n, _)| *n == chosen.get_untracked()).unwrap_or(0);
            let to = at.saturating_add_signed(by).min(all.len().saturating_sub(1));
            wb.select(all.get(to).map(|(n, _)| *n as u32));
        };
        view! {
            <div
                class="cutting"
                data-cutoff=move || plan.get().map(|p| p.decision.cutoff.to_string())
                data-reservation=move || plan.get().map(|p| p.decision.reservation.to_string())
            >
                <p class="answer" data-said="plan">{sentence}</p>
                <div class="policies" role="group" aria-label="How the cutoff is found">
                    <span aria-hidden="true">"Cutoff: "</span>
                    {POLICIES
                        .iter()
                        .enumerate()
                        .map(|(n, policy)| {
                            view! {
                                <button
                                    type="button"
                                    aria-pressed=move || (setting.get().policy == n).to_string()
                                    on:click=move |_| choose(wb, "policy", policy.id, POLICIES[remapping::AUTO].id)
                                >
                                    {policy.title}
                                </button>
                            }
                        })
                        .collect_view()}
                </div>
                <div class="percents">
                    <Slider
                        label="Bandwidth"
                        key="bandwidth"
                        range=(0, BANDWIDTHS.len() as i64 - 1)
                        first=first.bandwidth as i64
                        step=1
                        said=bandwidth
                    />
                    <Slider
                        label="Free memory"
                        key="free"
                        range=(0, FREE.len() as i64 - 1)
                        first=first.free as i64
                        step=1
                        said=free
                    />
                    <Slider
                        label="Cost of a remap"
                        key="remap"
                        range=(0, REMAPS.len() as i64 - 1)
                        first=first.remap as i64
                        step=1
                        said=remap
                    />
                </div>
                <Drawn
                    wb
                    title=CUTOFF
                    class="cutoff"
                    said=Signal::derive(sentence)
                    scene=Callback::new(move |width: f64| Some(scene::cutoff(&*plan.get()?, chosen.get(), width)))
                />
                <div class="field chooser">
                    <label>
                        "Slice"
                        <select on:change=move |e: Event| wb.select(event_target_value(&e).parse().ok())>
                            <For each=move || options.get() key=|(n, _)| *n let((n, slice))>
                                <option value=n.to_string() selected=move || chosen.get() == n>
                                    {format!("allocation {}, {}, {}", slice.allocation, slice.role, bytes(slice.size))}
                                </option>
                            </For>
                        </select>
                    </label>
                    <button type="button" aria-label="Smaller slice" on:click=move |_| go(-1)>
                        "‹"
                    </button>
                    <button type="button" aria-label="Larger slice" on:click=move |_| go(1)>
                        "›"
                    </button>
                </div>
                <p class="slice-words" role="status" data-said="slice">{words}</p>
            </div>
        }
    }

    /// The figure as tables: the slices, and the ways of finding the cutoff.
    #[component]
    fn CutoffTable() -> impl IntoView {
        let Decided(plan) = expect_context();
        let rows = move || {
            let plan = plan.get()?;
            let mut moved = 0_u64;
            let rows = plan.order.iter().map(|n| {
                let slice = &plan.slices[*n];
                moved = moved.saturating_add(slice.size.saturating_mul(2));
                view! {
                    <tr>
                        <th scope="row" class="n">{slice.allocation}</th>
                        <td>{slice.role.clone()}</td>
                        <td class="n">{grouped(slice.size)}</td>
                        <td class="n">{grouped(moved)}</td>
                        <td>{if plan.is_copied(*n) { "copied" } else { "remapped" }}</td>
                        <td>{plan.words(*n)}</td>
                    </tr>
                }
            });
            Some(rows.collect_view())
        };
        let ways = move || {
            let plan = plan.get()?;
            let rows = POLICIES.iter().zip(&plan.policies).map(|(policy, d)| {
                view! {
                    <tr>
                        <th scope="row">{policy.title}</th>
                        <td class="n">{grouped(d.cutoff)}</td>
                        <td class="n">{d.copied.len()}</td>
                        <td class="n">{d.remapped.len()}</td>
                        <td class="n">{grouped(d.reservation)}</td>
                        <td class="n">{d.costs.chosen.map(micros)}</td>
                        <td class="n">{policy.elsewhere.map(|ms| format!("{ms} ms"))}</td>
                    </tr>
                }
            });
            Some(rows.collect_view())
        };
        view! {
            <table>
                <caption>"The slices, smallest first"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Allocation"</th>
                        <th scope="col">"For"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        <th scope="col" class="n">"Moved by all so far"</th>
                        <th scope="col">"Way"</th>
                        <th scope="col">"Why"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
            <table>
                <caption>"Ways of finding the cutoff; what was measured elsewhere is of another program"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Way"</th>
                        <th scope="col" class="n">"Cutoff"</th>
                        <th scope="col" class="n">"Copied"</th>
                        <th scope="col" class="n">"Remapped"</th>
                        <th scope="col" class="n">"Addresses reserved"</th>
                        <th scope="col" class="n">"A step in the model"</th>
                        <th scope="col" class="n">"Measured elsewhere"</th>
                    </tr>
                </thead>
                <tbody>{ways}</tbody>
            </table>
        }
    }

    #[component]
    fn ChurnFigure() -> impl IntoView {
        let wb = use_workbench();
        let Played(course) = expect_context();
        let trial = Memo::new(move |_| wb.state.with(Trial::of));
        let sentence = move || course.get().map_or_else(String::new, |c| c.sentence());
        let chosen = Memo::new(move |_| course.get().map_or(0, |c| c.chosen(selected(wb))) as u32);
        let words = move || course.get().map_or_else(String::new, |c| c.words(chosen.get() as usize));
        let last = STEPS - 1;
        let said = move || format!("step {} of {last}", chosen.get());
        let drift = Signal::derive(move || remapping::drift_words(trial.get().drift()));
        let first = Trial::FIRST;
        let keep = move |kept: bool| {
            let mut next = wb.state.get_untracked();
            if kept {
                next.params.remove("kept");
            } else {
                next.params.insert("kept".to_owned(), 0.into());
            }
            wb.set(next);
        };
        view! {
            <div
                class="churning"
                data-first-fault=move || course.get().and_then(|c| c.first_fault()).map(|n| n.to_string())
            >
                <div class="field">
                    <label>
                        "Rule"
                        <select
                            on:change=move |e: Event| {
                                choose(wb, "rule", &event_target_value(&e), CASES[first.case].rule);
                            }
                            prop:value=move || CASES[trial.get().case].rule
                        >
                            {CASES
                                .iter()
                                .enumerate()
                                .map(|(n, case)| {
                                    view! {
                                        <option value=case.rule selected=move || trial.get().case == n>
                                            {case.title}
                                        </option>
                                    }
                                })
                                .collect_view()}
                        </select>
                    </label>
                    <label class="check">
                        <input
                            type="checkbox"
                            prop:checked=move || trial.get().kept
                            on:change=move |e| keep(event_target_checked(&e))
                        />
                        "keep the rule"
                    </label>
                </div>
                <p class="quiet">{move || CASES[trial.get().case].about}</p>
                <Show when=move || trial.get().case == 0>
                    <Slider
                        label="Free memory"
                        key="drift"
                        range=(0, DRIFTS.len() as i64 - 1)
                        first=first.drift as i64
                        step=1
                        said=drift
                    />
                </Show>
                <p class="answer" data-said="course">{sentence}</p>
                <Scrubber
                    label="Step"
                    value=chosen
                    last=Signal::derive(move || last)
                    said=Signal::derive(said)
                    step=Callback::new(move |(from, forward): (u32, bool)| {
                        if forward { (from + 1).min(last) } else { from.saturating_sub(1) }
                    })
                    set=Callback::new(move |to: u32| wb.select(Some(to)))
                />
                <p class="now" role="status" data-said="step">{words}</p>
                <Drawn
                    wb
                    title=CHURN
                    class="churn"
                    said=Signal::derive(sentence)
                    scene=Callback::new(move |width: f64| {
                        Some(scene::churn(&*course.get()?, chosen.get() as usize, width))
                    })
                />
            </div>
        }
    }

    #[component]
    fn ChurnTable() -> impl IntoView {
        let Played(course) = expect_context();
        let rows = move || {
            let course = course.get()?;
            let rows = course.steps.iter().enumerate().map(|(n, s)| {
                view! {
                    <tr>
                        <th scope="row" class="n">{n}</th>
                        <td class="n">{grouped(s.free)}</td>
                        <td class="n">{grouped(s.cutoff)}</td>
                        <td>{if s.set_up { "yes" } else { "" }}</td>
                        <td class="n">{grouped(s.needed)}</td>
                        <td class="n">{grouped(s.reservation)}</td>
                        <td class="n">{s.remaps}</td>
                        <td class="n">{grouped(s.copied_bytes)}</td>
                        <td class="n">{grouped(s.shadow_bytes)}</td>
                        <td class="n">{grouped(s.leaked_bytes)}</td>
                        <td>{course.faults(n).join("; ")}</td>
                    </tr>
                }
            });
            Some(rows.collect_view())
        };
        view! {
            <table>
                <caption>"Each step, in bytes"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Step"</th>
                        <th scope="col" class="n">"Free"</th>
                        <th scope="col" class="n">"Cutoff"</th>
                        <th scope="col">"Set-up"</th>
                        <th scope="col" class="n">"Addresses needed"</th>
                        <th scope="col" class="n">"Reserved"</th>
                        <th scope="col" class="n">"Remaps"</th>
                        <th scope="col" class="n">"Copied"</th>
                        <th scope="col" class="n">"Shadows"</th>
                        <th scope="col" class="n">"Leaked"</th>
                        <th scope="col">"What goes wrong"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
