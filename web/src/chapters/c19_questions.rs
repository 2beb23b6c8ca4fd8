//! Chapter 19: what people ask, each answered with a figure and a way to the place where it can be worked on.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 19,
    slug: "questions",
    title: "Questions",
    question: "What do people ask about buffer assignment, and what is the short answer?",
    figures: &["ask-assign", "ask-share", "ask-gap", "ask-must", "ask-copy", "ask-files"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(files, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module of the figures about temporaries.
const MODULE: &str = "varied_temp_sizes";

/// The module of the figure about what must share.
#[cfg(target_arch = "wasm32")]
const LOOP: &str = "lstm_scan";

/// The module of the figure about copies.
#[cfg(target_arch = "wasm32")]
const COPIES: &str = "kv_cache_loop";

const TITLES: [&str; 6] = [
    "What buffer assignment decides",
    "Two tensors, one address?",
    "What is lost",
    "Must share, and merely does",
    "A copy and its reason",
    "Which file says what",
];

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::pane::Links;
    use crate::{engine, questions, scene};
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let (picture, peak) = (&opened.original.picture, opened.original.curve.peak());
    let Some((a, b)) = questions::first_pair(&opened) else { return Vec::new() };
    let links = Links { values: vec![a, b], step: None };
    vec![super::Poster {
        figure: "ask-share",
        title: TITLES[1],
        caption: questions::pair(&opened, a, b).map(|p| p.words).unwrap_or_default(),
        class: "heap",
        scene: scene::linked_heap(picture, &links, peak, (900.0, 320.0)),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{COPIES, LOOP, MODULE, TITLES};
    use crate::engine::Opened;
    use crate::figure::Figure;
    use crate::fragmentation;
    use crate::pane::Links;
    use crate::questions::{self, Bond};
    use crate::scene;
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule};
    use crate::views::drawn::Drawn;
    use crate::workbench::{Workbench, use_workbench};
    use leptos::ev::Event;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast as _;
    use web_sys::HtmlElement;

    fn figure(id: &'static str, module: &str) -> Workbench {
        Workbench::for_figure(id, State::new(Source::Shipped(module.to_owned())))
    }

    /// A sentence about the module of a figure.
    fn sentence(wb: Workbench, of: fn(&Opened) -> Option<String>) -> Signal<String> {
        let said = Memo::new(move |_| wb.base.get().and_then(|o| of(&o)).unwrap_or_default());
        wb.say_with(move || said.get_untracked());
        said.into()
    }

    /// Two values of the figure about pairs: what the reader chose, or the first pair.
    fn chosen(wb: Workbench) -> Option<(u32, u32)> {
        let base = wb.base.get()?;
        let (a, b) = questions::first_pair(&base)?;
        let of = |key: &str, other: u32| {
            let asked = wb.state.with(|s| s.number(key)).and_then(|n| u32::try_from(n).ok());
            asked.filter(|v| base.original.picture.item(*v).is_some()).unwrap_or(other)
        };
        Some((of("a", a), of("b", b)))
    }

    pub fn chapter() -> AnyView {
        let assign = figure("ask-assign", MODULE);
        let share = figure("ask-share", MODULE);
        let gap = figure("ask-gap", MODULE);
        let must = figure("ask-must", LOOP);
        let copy = figure("ask-copy", COPIES);
        let files = figure("ask-files", MODULE);
        let pair = Memo::new(move |_| {
            let (a, b) = chosen(share)?;
            questions::pair(&*share.base.get()?, a, b)
        });
        share.say_with(move || {
            pair.with_untracked(|p| p.as_ref().map(|p| p.words.clone())).unwrap_or_default()
        });
        let check = move || {
            let pair = pair.get()?;
            Some(PuzzleResult { solved: pair.bond == Bond::Could, progress: pair.words })
        };
        // The first two of the loop's value: must they be one, or are they only at one address?
        let asked = Memo::new(move |_| {
            let base = must.base.get()?;
            let picture = &base.original.picture;
            let value = questions::best_company(picture)?;
            let may = questions::company(picture, value).may.first().copied()?;
            Some((picture.item(value)?.name.clone(), picture.item(may)?.name.clone()))
        });
        view! {
            <h3 class="ask">"What does buffer assignment do?"</h3>
            <p>
                "It gives every value of a compiled program a place in memory, before the program runs. Values that are never "
                "wanted at one time may get the same place, so the program needs far less than the sum of all its values. Nothing is "
                "allocated or freed while it runs: the addresses are fixed, and one size is known beforehand. XLA calls a block of "
                "memory an " <dfn>"allocation"</dfn> ", and a value's place in it a " <dfn>"slice"</dfn> ". " <Rule section="8.3" />
            </p>
            <Small wb=assign reserve=[320, 320, 400] title=TITLES[0] caption="The heap of a real program: addresses upwards, time to the right, a block a value.">
                <Heap said=sentence(assign, |o| Some(questions::decided(o))) lit=Signal::derive(Vec::new) />
                <Go to="drag" state="m=varied_temp_sizes" words="Pull at a live range and see it decided anew (chapter 5)" />
            </Small>

            <h3 class="ask">"How does XLA find out that two tensors can share memory?"</h3>
            <p>
                "The schedule is known, so for every value there is a first step, at which it is written, and a last one, at which it "
                "is read for the last time. Two values whose ranges have no step in common can share. One exception: where one ends at "
                "the very step that writes the other, an operation that works element by element may write over its own operand. "
                <Rule section="5" /> " " <Rule section="7" />
            </p>
            <Small wb=share reserve=[350, 350, 470] title=TITLES[1] caption="Choose two temporaries; the engine says whether they may share, and whether they do.">
                <Two />
                <p class="answer" aria-live="polite">{move || pair.get().map(|p| p.words)}</p>
                <Heap said=Signal::derive(move || pair.get().map(|p| p.words).unwrap_or_default()) quiet=true lit=Signal::derive(move || {
                    chosen(share).map(|(a, b)| vec![a, b]).unwrap_or_default()
                }) />
                <Go to="drag" state="m=varied_temp_sizes" words="See at which step a sharing breaks (chapter 5)" />
            </Small>
            <Puzzle
                id="could"
                goal=Signal::derive(|| "choose two temporaries that could share an address, and do not.".to_owned())
                check=Signal::derive(check)
                hint="Take one that is done early and one that begins late, at different heights of the picture."
            />

            <h3 class="ask">"What is fragmentation?"</h3>
            <p>
                "Memory that belongs to the heap and holds nothing when most is in use. Part of it is holes that the packer left, part is "
                "rounding. Often there is none. When a device runs out of memory although enough is free in pieces, that is the "
                "device's allocator, another matter: buffer assignment asks it for one block. " <Rule section="9.5" />
            </p>
            <Small wb=gap reserve=[220, 220, 300] title=TITLES[2] caption="The heap as one bar: what is alive at once, what the packer loses, what alignment adds.">
                <Bar />
                <Go to="gap" state="m=varied_temp_sizes;p.alignment=8" words="Turn the alignment up to 256 (chapter 12)" />
                <Go to="gap" state="m=attention_grad" words="A program that loses nothing (chapter 12)" />
            </Small>

            <h3 class="ask">"Must-alias or reuse: what is the difference?"</h3>
            <p>
                "Some values are the same memory by the meaning of the program: what goes into a loop, what its body gets and gives "
                "back, what comes out. XLA makes one " <dfn>"buffer"</dfn> " of them before it thinks about memory at all, and if that is "
                "impossible, a copy has to be put between them. Reuse comes later and is voluntary: two buffers get one address because "
                "they happen not to be wanted at one time, and lose it again when the schedule changes. " <Rule section="3" />
            </p>
            <Predict
                wb=must
                id="must"
                question=Signal::derive(move || {
                    asked
                        .get()
                        .map_or_else(
                            || "Two values stand at one address. Must they?".to_owned(),
                            |(a, b)| format!("{a} and {b} stand at the same address. If {b} were wanted a few steps longer, could they part?"),
                        )
                })
                options=Signal::derive(|| {
                    ["Yes: they only reuse the place", "No: they are one buffer, and would stay so"].map(str::to_owned).to_vec()
                })
                answer=Signal::derive(move || asked.get().map(|_| 0))
                explain=Callback::new(move |_: usize| {
                    must.base
                        .get()
                        .and_then(|o| Some(questions::company_words(&o.original.picture, questions::best_company(&o.original.picture)?)))
                        .unwrap_or_default()
                })
            />
            <Small wb=must reserve=[350, 370, 450] title=TITLES[3] caption="A row is a buffer with all its values; lit is what must be one with the chosen value.">
                <Must />
                <Go to="share" state="m=attention_grad" words="How a loop's buffer comes about, rule by rule (chapter 2)" />
                <Go to="drag" state="m=lstm_scan;all" words="All buffers of this loop (chapter 5)" />
            </Small>

            <h3 class="ask">"Why is there a copy that I did not write?"</h3>
            <p>
                "Because two things that must be one buffer are wanted at the same time with different contents: the old state of a "
                "loop that somebody still reads, or two donated arguments that swap places. XLA first puts copies wherever that might "
                "happen, then takes out those it can prove to be of no use. What is left costs memory and time. " <Rule section="11" />
            </p>
            <Small wb=copy reserve=[400, 400, 530] title=TITLES[4] caption="Choose a copy; the engine says between which buffers it stands.">
                <Copy />
                <Go to="drag" state="m=kv_cache_loop;all" words="The same program, all buffers (chapter 5)" />
                <Go to="copies" state="m=attention_grad;p.case=!swap" words="How a copy comes and goes, phase by phase (chapter 11)" />
            </Small>

            <h3 class="ask">"Which files tell me?"</h3>
            <p>
                "With " <span class="code">"--xla_dump_to=FOLDER"</span> " XLA writes four text files beside each module. For “why so "
                "much” begin with the peak in " <span class="code">"-live-range.txt"</span> "; for “where” look into "
                <span class="code">"-buffer-assignment.txt"</span> ". " <Rule section="9.1" />
            </p>
            <Small wb=files reserve=[160, 160, 290] title=TITLES[5] caption="The four files of one module, as our engine writes them.">
                <FileList />
                <Go to="files" state="m=varied_temp_sizes;v.file=2" words="Open the file with the peak (chapter 13)" />
            </Small>
        }
        .into_any()
    }

    /// A figure of this chapter: low, and all of one height.
    #[component]
    fn Small(
        wb: Workbench,
        title: &'static str,
        caption: &'static str,
        reserve: [u16; 3],
        children: ChildrenFn,
    ) -> impl IntoView {
        view! {
            <Figure wb title caption reserve>
                <div class="ask-figure">{children()}</div>
            </Figure>
        }
    }

    /// A link to a state of another figure, and there.
    #[component]
    fn Go(to: &'static str, state: &'static str, words: &'static str) -> impl IntoView {
        let go = move |_| {
            // The browser changes the address first.
            set_timeout(
                move || {
                    if let Some(there) = document().get_element_by_id(to) {
                        there.scroll_into_view();
                        let options = web_sys::FocusOptions::new();
                        options.set_prevent_scroll(true);
                        _ = there.unchecked_into::<HtmlElement>().focus_with_options(&options);
                    }
                },
                std::time::Duration::from_millis(60),
            );
        };
        view! {
            <p class="go">
                <a href=format!("#v2/{to}/{to}={state}") on:click=go>
                    {words}
                </a>
            </p>
        }
    }

    /// The heap of the figure around, with some values lit.
    #[component]
    fn Heap(said: Signal<String>, lit: Signal<Vec<u32>>, #[prop(optional)] quiet: bool) -> impl IntoView {
        let wb = use_workbench();
        view! {
            {(!quiet).then(|| view! { <p class="answer">{move || said.get()}</p> })}
            <Drawn
                wb
                title="The heap"
                class="low-heap"
                said
                scene=Callback::new(move |width: f64| {
                    let opened = wb.base.get()?;
                    let links = Links { values: lit.get(), step: None };
                    let peak = opened.original.curve.peak();
                    Some(scene::linked_heap(&opened.original.picture, &links, peak, (width, 220.0)))
                })
            />
        }
    }

    #[component]
    fn Two() -> impl IntoView {
        let wb = use_workbench();
        let options = Memo::new(move |_| {
            wb.base.get().map(|o| questions::candidates(&o.original.picture)).unwrap_or_default()
        });
        let choose = move |key: &'static str, label: &'static str, which: fn((u32, u32)) -> u32| {
            let now = move || chosen(wb).map(which);
            view! {
                <label class="field">
                    {label}
                    <select on:change=move |e: Event| {
                        if let Ok(v) = event_target_value(&e).parse::<i64>() {
                            wb.set_param(key, v);
                        }
                    }>
                        <For each=move || options.get() key=Clone::clone let((value, name))>
                            <option value=value.to_string() selected=move || now() == Some(value)>
                                {name}
                            </option>
                        </For>
                    </select>
                </label>
            }
        };
        view! {
            <div class="gap-controls">
                {choose("a", "One", |p| p.0)}
                {choose("b", "The other", |p| p.1)}
            </div>
        }
    }

    #[component]
    fn Bar() -> impl IntoView {
        let wb = use_workbench();
        let gap = Memo::new(move |_| {
            let opened = wb.base.get()?;
            fragmentation::gap(&opened, fragmentation::own_alignment(&opened))
        });
        let said =
            Memo::new(move |_| gap.get().map(|g| fragmentation::sentence(&g, None)).unwrap_or_default());
        view! {
            <p class="answer">{move || said.get()}</p>
            <Drawn
                wb
                title="What the heap is made of"
                class="gap-scene"
                said
                scene=Callback::new(move |width: f64| Some(scene::gap(&gap.get()?, None, 0, width)))
            />
        }
    }

    #[component]
    fn Must() -> impl IntoView {
        let wb = use_workbench();
        // What the reader selected, or else what there is most to say of.
        let value = Memo::new(move |_| {
            let base = wb.base.get()?;
            let asked = wb.state.with(|s| match s.selection {
                crate::state::Selection::Value(v) => Some(v),
                _ => None,
            });
            asked
                .filter(|v| base.original.picture.item(*v).is_some())
                .or_else(|| questions::best_company(&base.original.picture))
        });
        let said = Memo::new(move |_| {
            let base = wb.base.get()?;
            Some(questions::company_words(&base.original.picture, value.get()?))
        });
        let words = move || said.get().unwrap_or_default();
        view! {
            <p class="answer" aria-live="polite">{words}</p>
            <div class="linked-scroll" tabindex="0" role="group" aria-label="Buffers and their values">
                <Drawn
                    wb
                    title="Buffers and their values"
                    class="linked-ranges"
                    said=Signal::derive(words)
                    scene=Callback::new(move |width: f64| {
                        let opened = wb.base.get()?;
                        let picture = &opened.original.picture;
                        let value = value.get()?;
                        let mut values = questions::company(picture, value).must;
                        values.push(value);
                        let links = Links { values, step: None };
                        Some(scene::linked_ranges(picture, &links, None, width))
                    })
                />
            </div>
        }
    }

    #[component]
    fn Copy() -> impl IntoView {
        let wb = use_workbench();
        let copies = Memo::new(move |_| wb.base.get().map(|o| questions::copies(&o)).unwrap_or_default());
        let now = Memo::new(move |_| {
            let asked = wb.state.with(|s| s.number("copy")).and_then(|n| u32::try_from(n).ok());
            copies.with(|c| asked.filter(|v| c.contains(v)).or(c.first().copied()))
        });
        let said = Memo::new(move |_| questions::why_copy(&*wb.base.get()?, now.get()?));
        let words = move || said.get().unwrap_or_default();
        let name = move |v: u32| wb.base.with(|o| Some(o.as_ref()?.original.picture.item(v)?.name.clone()));
        view! {
            <div class="choices row" role="group" aria-label="Copies">
                <For each=move || copies.get() key=|v| *v let(v)>
                    <button
                        type="button"
                        aria-pressed=move || (now.get() == Some(v)).to_string()
                        on:click=move |_| wb.set_param("copy", i64::from(v))
                    >
                        {move || name(v)}
                    </button>
                </For>
            </div>
            <p class="answer" aria-live="polite">{words}</p>
            <div class="linked-scroll" tabindex="0" role="group" aria-label="The copy and what it copies">
            <Drawn
                wb
                title="The copy and what it copies"
                class="linked-ranges"
                said=Signal::derive(words)
                scene=Callback::new(move |width: f64| {
                    let opened = wb.base.get()?;
                    let copy = now.get()?;
                    let mut values = vec![copy];
                    values.extend(questions::source_of(&opened, copy));
                    let links = Links { values, step: None };
                    Some(scene::linked_ranges(&opened.original.picture, &links, None, width))
                })
            />
            </div>
        }
    }

    #[component]
    fn FileList() -> impl IntoView {
        let wb = use_workbench();
        let list = Memo::new(move |_| wb.base.get().map(|o| questions::files(&o)).unwrap_or_default());
        view! {
            <ul class="file-list">
                {move || {
                    list.get()
                        .into_iter()
                        .map(|(name, lines, about)| {
                            view! {
                                <li>
                                    <b class="code">{name}</b>
                                    <span class="quiet">{format!("{lines} lines")}</span>
                                    <span>{about}</span>
                                </li>
                            }
                        })
                        .collect_view()
                }}
            </ul>
        }
    }
}
