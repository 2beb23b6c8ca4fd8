//! Chapter 3: the order of instructions, and what it costs.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 3,
    slug: "the-schedule-is-a-clock",
    title: "The schedule is a clock",
    question: "How much does the order of instructions cost?",
    figures: &["clock"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(ranges, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module it begins with, and the instruction that is selected in it.
const MODULE: &str = "attention_grad";
const FIRST: &str = "dot";

const TITLE: &str = "Move an instruction";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::scene::{OrderShown, order};
    use crate::{engine, lessons};
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let rows = lessons::rows(&opened);
    let selected = rows.iter().position(|r| r.name == FIRST).map(|s| s as u32);
    let range = selected.and_then(|s| lessons::allowed(&opened, &rows, s));
    let drawn = (&opened.original.picture, &opened.original.curve);
    let scene = order(&rows, drawn, drawn, OrderShown { width: 900.0, selected, range }).scene;
    let caption = crate::story::peak(&opened.original);
    vec![super::Poster { figure: "clock", title: TITLE, caption, class: "order", scene }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{FIRST, MODULE, TITLE};
    use crate::figure::Figure;
    use crate::lessons;
    use crate::scene::{self, Order, OrderRow, OrderShown};
    use crate::state::{Source, State};
    use crate::story;
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Scrub, Term};
    use crate::views::choose::ModuleChoice;
    use crate::views::plot::{change, paint, point, width_of};
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, difference};
    use leptos::ev::{Event, KeyboardEvent, PointerEvent};
    use leptos::html::Div;
    use leptos::prelude::*;
    use leptos::svg::Svg;
    use std::cmp::Ordering;

    /// Programs of a few dozen steps.
    const MODULES: [&str; 4] = ["attention_grad", "kv_cache_loop", "donation_swap", "lstm_scan"];

    /// What the puzzle wants, in bytes: the least that one move can reach.
    const GOAL: u64 = 264_192;

    /// What the parts of the figure share: the schedule now, and the step of the chosen instruction.
    #[derive(Clone, Copy)]
    struct Now {
        rows: Memo<Vec<OrderRow>>,
        chosen: Memo<Option<u32>>,
        range: Memo<Option<(u32, u32)>>,
    }

    impl Now {
        fn of(wb: Workbench) -> Self {
            let rows = Memo::new(move |_| wb.opened.get().map(|o| lessons::rows(&o)).unwrap_or_default());
            let chosen = Memo::new(move |_| {
                let value = wb.selected.get()?;
                let base = wb.base.get()?;
                let at = base.facts.defining(analysis::ValueId(value)).0;
                rows.with(|r| r.iter().position(|row| row.instruction == at)).map(|s| s as u32)
            });
            let range = Memo::new(move |_| {
                let (opened, step) = (wb.opened.get()?, chosen.get()?);
                rows.with(|r| lessons::allowed(&opened, r, step))
            });
            Self { rows, chosen, range }
        }

        /// Moves the chosen instruction to a step, or as near as it may.
        fn go(self, wb: Workbench, to: i64) {
            let Some((row, range)) = self
                .rows
                .with_untracked(|r| self.chosen.get_untracked().and_then(|s| r.get(s as usize).cloned()))
                .zip(self.range.get_untracked())
            else {
                return;
            };
            let to = to.clamp(i64::from(range.0), i64::from(range.1)) as usize;
            // Steps of called computations lie between those of their caller.
            let slot = self.rows.with_untracked(|r| {
                r.get(to).filter(|r| r.computation == row.computation).map(|r| i64::from(r.slot))
            });
            if let Some(slot) = slot {
                wb.move_instruction(row.instruction, slot);
            }
        }
    }

    pub fn chapter() -> AnyView {
        let first = State::new(Source::Shipped(MODULE.to_owned()));
        let wb = Workbench::for_figure("clock", first).begin_with(FIRST);
        let now = Now::of(wb);
        wb.say_with(move || told(wb, now));
        let is_first = move || wb.state.with(|s| s.source == Source::Shipped(MODULE.to_owned()));
        let base = move || wb.base.get().filter(|_| is_first());
        let late = Memo::new(move |_| {
            let base = base()?;
            let (later, step) = lessons::as_late_as_possible(&base, FIRST)?;
            Some((base.original.picture.heap_size(), later.original.picture.heap_size(), step))
        });
        let question = move || match late.get() {
            Some((before, _, step)) => format!(
                "{FIRST} runs at step 14, and nothing needs its result before the end. If it waits until step {step}, \
                 what becomes of the heap of {}?",
                bytes(before)
            ),
            None => "If an instruction waits as long as it may, what becomes of the heap?".to_owned(),
        };
        let answer = move || {
            late.get().map(|(before, after, _)| match after.cmp(&before) {
                Ordering::Less => 0,
                Ordering::Equal => 1,
                Ordering::Greater => 2,
            })
        };
        let explain = move |_: usize| {
            let (Some((before, after, step)), Some(base)) = (late.get(), base()) else {
                return String::new();
            };
            // What it reads last, and so keeps.
            let picture = &base.original.picture;
            let kept: Vec<String> = picture
                .temps()
                .filter(|i| i.reads.contains(&14) && i.end == 14)
                .map(|i| format!("{} ({})", i.name, bytes(i.size)))
                .collect();
            format!(
                "The heap takes {} ({}). {FIRST} is the last reader of {}: while it waits until step {step}, that \
                 stays alive beside what is written meanwhile.",
                bytes(after),
                difference(before, after),
                assigner::words::list(&kept, 2)
            )
        };
        let puzzle = move || {
            let opened = wb.opened.get().filter(|_| is_first())?;
            let heap = opened.original.picture.heap_size();
            Some(PuzzleResult {
                solved: heap <= GOAL,
                progress: format!("The heap takes {}; the goal is {}.", bytes(heap), bytes(GOAL)),
            })
        };
        let at = move || now.chosen.get().map_or(0, i64::from);
        let name = |n: &'static str| Signal::derive(move || n.to_owned());
        view! {
            <p>
                "A program says which instruction needs which, and leaves the rest open: two that do not need each other "
                "may run in either order. XLA fixes one order before it assigns memory, the " <dfn>"schedule"</dfn>
                ". From then on it is a clock. The first instruction runs at step 0, the next at step 1, and a value is "
                "alive from the step that writes it to the last step that reads it."
            </p>
            <p>
                "Some instructions run others: a loop runs its body, a branch runs one of its sides. Their instructions "
                "are on the same clock, and they come before the one that called them: first all of the condition, then "
                "all of the body, then the loop itself. So a loop has one range of steps, however often it turns. "
                <Rule section="4.1" />
            </p>
            <Figure
                wb
                title=TITLE
                caption="Time runs downwards. A coloured line is a value, from where it is written to where it is read last, with a dark mark at each reader. To the right, the bytes alive at each step. Drag an instruction, or choose one and use the buttons or the arrow keys; the shaded rows are those at which it may stand."
                reserve=[602, 621, 732]
                table=move || view! { <Steps now /> }
            >
                <Clock now />
            </Figure>
            <p>
                "In the compiler's order " <Term wb value=name(FIRST) /> " runs after "
                <Term wb value=name("ynn_fusion.2") /> ". Neither needs the other. But "
                <Term wb value=name("broadcast_multiply_fusion.1") />
                " is read last by " <Term wb value=name(FIRST) />
                ", and until then its 131,072 bytes cannot be used again. The chosen instruction now runs at step "
                <Scrub
                    label="Step of the chosen instruction"
                    value=Signal::derive(at)
                    min=Signal::derive(move || now.range.get().map_or(0, |r| i64::from(r.0)))
                    max=Signal::derive(move || now.range.get().map_or(0, |r| i64::from(r.1)))
                    set=Callback::new(move |to| now.go(wb, to))
                    settle=Callback::new(move |()| wb.settle())
                />
                ": change the number, and the peak in the figure follows."
            </p>
            <Predict
                wb
                id="late"
                question=Signal::derive(question)
                options=Signal::derive(|| {
                    ["It shrinks", "It stays the same", "It grows"].map(str::to_owned).to_vec()
                })
                answer=Signal::derive(answer)
                explain=Callback::new(explain)
            />
            <Puzzle
                id="shrink"
                goal=Signal::derive(move || {
                    format!("move one instruction of the attention program so that its heap takes no more than {}.", bytes(GOAL))
                })
                check=Signal::derive(puzzle)
                hint="Which two large values are alive together only because of the order? Let the reader of one run before the other is written."
            />
            <p>
                "Open the decoding loop in the list of programs to see a clock with a loop in it: the steps of its "
                "condition and its body stand before the loop, set in. They can be moved as well, but not out of the "
                "computation that they belong to."
            </p>
        }
        .into_any()
    }

    /// What the present order comes to, in words.
    fn told(wb: Workbench, now: Now) -> String {
        let (Some(base), Some(opened)) = (wb.base.get(), wb.opened.get()) else { return String::new() };
        let order = lessons::order_words(&base, &opened);
        let chosen = now.chosen.get().zip(now.range.get());
        match chosen.and_then(|(step, range)| {
            now.rows.with(|r| Some((r.get(step as usize)?.name.clone(), step, range)))
        }) {
            Some((name, step, (first, last))) if first == last => {
                format!("{name} runs at step {step} and has no other place. {order}")
            }
            Some((name, step, (first, last))) => {
                format!("{name} runs at step {step}; it may run at any from {first} to {last}. {order}")
            }
            None => order,
        }
    }

    #[component]
    fn Clock(now: Now) -> impl IntoView {
        let wb = use_workbench();
        let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
        let width = width_of(plot);
        let layout = Memo::new(move |_| {
            let (base, run) = (wb.base.get()?, wb.run.get()?);
            let shown = OrderShown { width: width.get(), selected: now.chosen.get(), range: now.range.get() };
            let before = (&base.original.picture, &base.original.curve);
            (shown.width > 0.0).then(|| {
                Shared::new(now.rows.with(|r| scene::order(r, before, (&run.picture, &run.curve), shown)))
            })
        });
        paint(wb, TITLE, svg, layout, |o: &Order| &o.scene);
        let held = RwSignal::new(false);
        let step_at = move |e: &PointerEvent| {
            let (_, y) = point(e, plot)?;
            layout.with_untracked(|l| Some((l.as_ref()?.step_at(y), y)))
        };
        let down = move |e: PointerEvent| {
            let Some((step, _)) = step_at(&e).filter(|_| e.button() == 0) else { return };
            let value = now.rows.with_untracked(|r| r.get(step as usize).and_then(|r| r.value));
            let Some(value) = value else { return };
            if wb.selected.get_untracked() != Some(value) {
                wb.select(Some(value));
            }
            // A finger scrolls the page, unless it takes the handle.
            let on_handle = e.target().is_some_and(|t| {
                use wasm_bindgen::JsCast as _;
                t.dyn_into::<web_sys::Element>().is_ok_and(|t| t.class_list().contains("mover"))
            });
            if e.pointer_type() == "touch" && !on_handle {
                return;
            }
            e.prevent_default();
            held.set(true);
            if let Some(element) = plot.get_untracked() {
                _ = element.set_pointer_capture(e.pointer_id());
                if let Ok(Some(handle)) = element.query_selector(".mover") {
                    use wasm_bindgen::JsCast as _;
                    _ = handle.unchecked_into::<web_sys::HtmlElement>().focus();
                }
            }
        };
        let moved = move |e: PointerEvent| {
            let Some((step, _)) = step_at(&e) else { return };
            if held.get_untracked() {
                now.go(wb, i64::from(step));
            } else {
                let value = now.rows.with_untracked(|r| r.get(step as usize).and_then(|r| r.value));
                change(wb.hover, value);
            }
        };
        let up = move |_: PointerEvent| {
            if held.get_untracked() {
                held.set(false);
                wb.settle();
            }
        };
        let key = move |e: KeyboardEvent| {
            let (Some(step), Some((first, last))) = (now.chosen.get_untracked(), now.range.get_untracked())
            else {
                return;
            };
            let step = i64::from(step);
            let to = match e.key().as_str() {
                "ArrowUp" | "ArrowLeft" => before(now, step, -1),
                "ArrowDown" | "ArrowRight" => before(now, step, 1),
                "PageUp" => step - 5,
                "PageDown" => step + 5,
                "Home" => i64::from(first),
                "End" => i64::from(last),
                _ => return,
            };
            e.prevent_default();
            now.go(wb, to);
        };
        let chosen_name = move || {
            let step = now.chosen.get()?;
            now.rows.with(|r| r.get(step as usize).map(|r| r.name.clone()))
        };
        let place = move || {
            let step = now.chosen.get()?;
            layout.with(|l| l.as_ref().map(|l| (l.names, l.middle(step))))
        };
        let said = move || {
            wb.run.get().map_or_else(String::new, |r| {
                format!(
                    "The schedule, {} steps. {} The table holds the same.",
                    r.picture.last(),
                    story::peak(&r)
                )
            })
        };
        view! {
            <div class="controls above">
                <ModuleChoice ids=&MODULES />
                <Mover now />
            </div>
            <p class="told-here">{move || told(wb, now)}</p>
            <p class="told-here quiet">{move || wb.run.get().map(|r| story::peak(&r))}</p>
            <div class="order">
                <div
                    class="plot"
                    class:dragging=move || held.get()
                    node_ref=plot
                    on:pointerdown=down
                    on:pointermove=moved
                    on:pointerup=up
                    on:pointercancel=up
                    on:pointerleave=move |_| change(wb.hover, None)
                >
                    <svg node_ref=svg role="img" aria-label=said></svg>
                    <div
                        class="mover"
                        role="slider"
                        tabindex="0"
                        aria-orientation="vertical"
                        aria-label=move || format!("Step of {}", chosen_name().unwrap_or_default())
                        aria-valuemin=move || now.range.get().map(|r| r.0.to_string())
                        aria-valuemax=move || now.range.get().map(|r| r.1.to_string())
                        aria-valuenow=move || now.chosen.get().map(|s| s.to_string())
                        class:gone=move || place().is_none()
                        style:left=move || format!("{:.1}px", place().map_or(0.0, |p| p.0))
                        style:top=move || format!("{:.1}px", place().map_or(0.0, |p| p.1))
                        on:keydown=key
                        on:keyup=move |_| wb.settle()
                        on:blur=move |_| wb.settle()
                    ></div>
                </div>
            </div>
        }
    }

    /// The next step of the same computation in one direction.
    fn before(now: Now, step: i64, by: i64) -> i64 {
        now.rows.with_untracked(|rows| {
            let Some(row) = usize::try_from(step).ok().and_then(|s| rows.get(s)) else { return step };
            let slot = i64::from(row.slot) + by;
            rows.iter()
                .position(|r| r.computation == row.computation && i64::from(r.slot) == slot)
                .map_or(step, |s| s as i64)
        })
    }

    /// All that dragging does, without dragging.
    #[component]
    fn Mover(now: Now) -> impl IntoView {
        let wb = use_workbench();
        let choose = move |e: Event| wb.select(event_target_value(&e).parse().ok());
        let step = move || now.chosen.get().map(i64::from);
        let go = move |to: i64| {
            now.go(wb, to);
            wb.settle();
        };
        let first = move || now.range.get().is_none_or(|r| Some(i64::from(r.0)) == step());
        let last = move || now.range.get().is_none_or(|r| Some(i64::from(r.1)) == step());
        view! {
            <div class="field chooser">
                <label>
                    "Instruction"
                    <select on:change=choose>
                        {move || {
                            now.rows
                                .get()
                                .into_iter()
                                .filter_map(|r| Some((r.value?, r.name)))
                                .map(|(value, name)| {
                                    view! {
                                        <option
                                            value=value.to_string()
                                            selected=move || wb.selected.get() == Some(value)
                                        >
                                            {name}
                                        </option>
                                    }
                                })
                                .collect_view()
                        }}
                    </select>
                </label>
                <button
                    type="button"
                    disabled=first
                    on:click=move |_| {
                        if let Some(s) = step() {
                            go(before(now, s, -1));
                        }
                    }
                >
                    "Earlier"
                </button>
                <button
                    type="button"
                    disabled=last
                    on:click=move |_| {
                        if let Some(s) = step() {
                            go(before(now, s, 1));
                        }
                    }
                >
                    "Later"
                </button>
            </div>
        }
    }

    /// The figure as a table.
    #[component]
    fn Steps(now: Now) -> impl IntoView {
        let wb = use_workbench();
        view! {
            <table>
                <caption>"The schedule"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Step"</th>
                        <th scope="col">"Instruction"</th>
                        <th scope="col">"May run at"</th>
                        <th scope="col" class="n">"Bytes alive"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        let (Some(opened), Some(run)) = (wb.opened.get(), wb.run.get()) else {
                            return Vec::new();
                        };
                        let rows = now.rows.get();
                        (0..rows.len() as u32)
                            .map(|step| {
                                let row = &rows[step as usize];
                                let (name, value) = (row.name.clone(), row.value);
                                let range = lessons::allowed(&opened, &rows, step)
                                    .map(|(a, b)| if a == b { a.to_string() } else { format!("{a} to {b}") });
                                let used = run.curve.bytes.get(step as usize).copied().unwrap_or(0);
                                let lit = move || value.is_some() && wb.hover.get() == value;
                                view! {
                                    <tr class:lit=lit class:selected=move || now.chosen.get() == Some(step)>
                                        <td class="n">{step}</td>
                                        <th scope="row">{name}</th>
                                        <td>{range}</td>
                                        <td class="n">{assigner::words::grouped(used)}</td>
                                    </tr>
                                }
                            })
                            .collect()
                    }}
                </tbody>
            </table>
        }
    }
}
