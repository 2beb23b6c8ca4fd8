//! Chapter 6: two ranges that only touch.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 6,
    slug: "the-one-exception",
    title: "The one exception",
    question: "One value is read for the last time where another is written. May the write go to the same address?",
    figures: &["touch"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(packing, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const TITLE: &str = "Read and written in one step";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::touching::{Setting, answer};
    let Ok(a) = answer(Setting::first()) else { return Vec::new() };
    vec![super::Poster {
        figure: "touch",
        title: TITLE,
        scene: crate::scene::touch(&a.opened.original.picture, a.early, a.later, 620.0),
        caption: a.words,
        class: "heap",
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::TITLE;
    use crate::figure::Figure;
    use crate::modules::FIRST_ID;
    use crate::scene;
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::touching::{self, Answer, Line, OPS, Op, Setting, Verdict};
    use crate::views::drawn::Drawn;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::grouped;
    use leptos::ev::Event;
    use leptos::prelude::*;

    /// What the engine says of the present setting, for the figure and the prose around it.
    #[derive(Clone, Copy)]
    struct Touch {
        setting: Memo<Setting>,
        answer: Memo<Option<Shared<Answer>>>,
    }

    /// Goes to a setting; what is as at first stands nowhere.
    fn set(wb: Workbench, s: Setting) {
        let first = Setting::first();
        let mut next = wb.state.get_untracked();
        if s.op.id == first.op.id {
            next.params.remove("op");
        } else {
            next.params.insert("op".to_owned(), s.op.id.into());
        }
        for (key, on) in [("differs", s.differs), ("twice", s.twice), ("gpu", s.gpu)] {
            if on {
                next.params.insert(key.to_owned(), 1.into());
            } else {
                next.params.remove(key);
            }
        }
        wb.set(next);
    }

    /// On CPU and on GPU, for the first setting.
    fn on_both() -> Option<(Verdict, Verdict)> {
        let of = |gpu| touching::answer(Setting { gpu, ..Setting::first() }).ok().map(|a| a.verdict);
        Some((of(false)?, of(true)?))
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("touch", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let answer = Memo::new(move |_| {
            let s = setting.get();
            wb.awake.get().then(|| touching::answer(s).ok()).flatten().map(Shared::new)
        });
        provide_context(Touch { setting, answer });
        wb.say_with(move || {
            answer.with_untracked(|a| a.as_ref().map(|a| a.words.clone())).unwrap_or_default()
        });
        let term = move |name: &'static str, number: fn(&touching::Answer) -> u32| {
            view! {
                <Term
                    wb
                    value=Signal::derive(move || name.to_owned())
                    number=Signal::derive(move || answer.with(|a| a.as_ref().map(|a| number(a))))
                />
            }
        };
        let options = ["On both", "On GPU only", "On CPU only", "On neither"];
        let predicted = move || {
            let (cpu, gpu) = on_both()?;
            Some(match (cpu.shares(), gpu.shares()) {
                (true, true) => 0,
                (false, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
            })
        };
        let check = move || {
            let (s, first) = (setting.get(), Setting::first());
            let shares = answer.with(|a| a.as_ref().map(|a| a.shares))?;
            let changed = u32::from(s.op != first.op)
                + u32::from(s.differs != first.differs)
                + u32::from(s.twice != first.twice)
                + u32::from(s.gpu != first.gpu);
            let progress = match (shares, s.op == first.op, changed) {
                (_, false, _) => "This is another operation; the goal is to keep it.".to_owned(),
                (true, _, 1) => "They share one address, and one thing is changed.".to_owned(),
                (true, ..) => format!("They share one address, but {changed} things are changed."),
                (false, _, 0) => "The two stand at two addresses.".to_owned(),
                (false, ..) => "The two still stand at two addresses.".to_owned(),
            };
            Some(PuzzleResult { solved: shares && s.op == first.op && changed == 1, progress })
        };
        view! {
            <p>
                "A range is closed at both ends: a value is wanted at the step that writes it and at the step that reads it "
                "last. So where one instruction reads " {term("early", |a| a.early)} " for the last time and writes "
                {term("later", |a| a.later)} ", both are wanted at that one step, and two values that are wanted at once need two addresses. But an "
                "addition reads each number before it writes the sum of it. If it writes the sum where the number was, "
                "nothing is lost. For such instructions XLA makes the one exception to its rule: the later value may stand "
                "where the earlier one stood. A matrix product, which still needs the first row when it has written the "
                "second, is not one of them. "
                <Rule section="5" />
            </p>
            <p>
                "XLA asks a list of questions, and the first that has an answer decides; the table below names it by its number. "
                "Questions 1 and 2 are about rare cases. If the instruction is defined to write into this operand (3), yes. If the compiler for this kind of machine, the "
                <dfn>"backend"</dfn> ", has a rule of its own (4), that rule. If the two have different shapes (5), no. Then "
                "fusions (6 and 7), loops (8), updates (9), sorts (10) and calls (11) have a question each. For all the rest "
                "(12): does it work " <dfn>"element by element"</dfn>
                ", writing each element from the one at the same place? A loop fusion ("<span class="code">"kind=kLoop"</span>") does if all the steps on the way from this "
                "operand to the result do; what happens to its other operands does not matter, so a bias may be broadcast and "
                "added. In XLA's source the question is called "
                <span class="code">"CanShareOperandBufferWithUser"</span> ". "
                <Rule section="7" />
            </p>
            <Predict
                wb
                id="bitcast"
                question=Signal::derive(|| {
                    "A fusion takes the cosine of each element. Between, it looks at the array as one long row and back: a bitcast, which moves no byte. May it write over its operand?"
                        .to_owned()
                })
                options=Signal::derive(move || options.map(str::to_owned).to_vec())
                answer=Signal::derive(predicted)
                explain=Callback::new(move |_: usize| {
                    on_both()
                        .map(|(cpu, gpu)| {
                            format!(
                                "On CPU: {}, decided by clause {}. On GPU: {}, decided by clause {}: there the backend looks through the bitcast, while the general rule takes it for something that is not element by element.",
                                cpu.word(), cpu.decided(), gpu.word(), gpu.decided()
                            )
                        })
                        .unwrap_or_default()
                })
            />
            <Figure
                wb
                title=TITLE
                caption="Choose the instruction that reads early for the last time and writes later. A module of a few lines is made of it, and the whole engine runs on it. Above, the two ranges; the lane is the step in which they touch. Below, the heap."
                reserve=[1180, 1494, 1566]
                table=TouchTable
            >
                <Touching />
            </Figure>
            <Puzzle
                id="share"
                goal="begin with the fusion with a bitcast on CPU, as it was at first, and make the two share by changing one thing; but not the operation."
                check=Signal::derive(check)
                hint="The list of questions is the same everywhere, except for one: who is asked before the shapes are compared?"
            />
            <p>
                "Two things are not on the list. A copy never stands where its source stands, although it is element by "
                "element: if it could, there would be no reason to make it. And where values " <i>"must"</i>
                " share, as a loop's state or an array that is updated in place, there is no choice: they are one buffer from the "
                "beginning (" <a href="#values-that-must-share">"chapter 2"</a>
                "). If it were wrong to share, an earlier pass has put a copy between them ("
                <a href="#the-copy-you-never-see">"chapter 11"</a> "). Where two values " <i>"may"</i> " share like this, the packer always lets them: it puts both into the heap as one block (chapter 9). "
                <Rule section="5" />
                " "
                <Rule section="7" />
            </p>
        }
        .into_any()
    }

    #[component]
    fn Touching() -> impl IntoView {
        let wb = use_workbench();
        let Touch { setting, answer } = expect_context();
        let words = move || answer.with(|a| a.as_ref().map(|a| a.words.clone())).unwrap_or_default();
        let decided = move || {
            answer.with(|a| {
                a.as_ref().map(|a| match a.verdict {
                    Verdict::No(touching::Touching::Copy) => "Decided by rule 5: a copy.".to_owned(),
                    v => match v.decided().split_once(' ') {
                        Some((number, title)) => format!("Decided by rule 7, clause {number}: {title}."),
                        None => String::new(),
                    },
                })
            })
        };
        let choose = move |e: Event| {
            if let Some(op) = touching::find(&event_target_value(&e)) {
                set(wb, setting.get_untracked().with_op(op));
            }
        };
        let check = move |label: &'static str,
                          about: &'static str,
                          is_on: fn(&Setting) -> bool,
                          may: fn(&Op) -> bool,
                          turn: fn(Setting) -> Setting| {
            view! {
                <label class="check">
                    <input
                        type="checkbox"
                        prop:checked=move || setting.with(is_on)
                        disabled=move || !may(setting.get().op)
                        on:change=move |_| set(wb, turn(setting.get_untracked()))
                    />
                    <span>{label} " " <small>{about}</small></span>
                </label>
            }
        };
        let target = move |name: &'static str, gpu: bool| {
            view! {
                <button
                    type="button"
                    aria-pressed=move || (setting.get().gpu == gpu).to_string()
                    on:click=move |_| set(wb, Setting { gpu, ..setting.get_untracked() })
                >
                    {name}
                </button>
            }
        };
        view! {
            <div
                class="touching"
                data-verdict=move || answer.with(|a| a.as_ref().map(|a| a.verdict.word()))
                data-heap=move || {
                    answer.with(|a| a.as_ref().map(|a| a.opened.original.picture.heap_size().to_string()))
                }
            >
                <div class="touch-controls">
                    <label class="field">
                        "The later instruction"
                        <select on:change=choose prop:value=move || setting.get().op.id>
                            {OPS
                                .iter()
                                .map(|o| {
                                    view! {
                                        <option value=o.id selected=move || setting.get().op.id == o.id>
                                            {o.name}
                                        </option>
                                    }
                                })
                                .collect_view()}
                        </select>
                    </label>
                    <div class="target" role="group" aria-label="Compiled for">
                        {target("CPU", false)} {target("GPU", true)}
                    </div>
                    {check("Reads early twice", "as two operands", |s| s.twice, |o| o.may_repeat, |s| Setting { twice: !s.twice, ..s })}
                    {check("Another shape", "of later", |s| s.differs, |o| o.may_differ, |s| Setting { differs: !s.differs, ..s })}
                </div>
                <p class="answer" data-said="verdict">{words}</p>
                <p class="quiet">{decided}</p>
                <div class="touch-both">
                    <Drawn
                        wb
                        title="Two ranges that touch"
                        class="heap"
                        said=Signal::derive(words)
                        scene=Callback::new(move |width: f64| {
                            answer
                                .with(|a| {
                                    a.as_ref()
                                        .map(|a| scene::touch(&a.opened.original.picture, a.early, a.later, width))
                                })
                        })
                    />
                    <pre class="made" tabindex="0" aria-label="The module as text">
                        {move || answer.with(|a| a.as_ref().map(|a| a.text.clone()))}
                    </pre>
                </div>
                <Matrix />
            </div>
        }
    }

    /// Every operation on both backends, under the other settings as far as it can have them.
    #[component]
    fn Matrix() -> impl IntoView {
        let Touch { setting, .. } = expect_context();
        let others = Memo::new(move |_| {
            let s = setting.get();
            (s.differs, s.twice)
        });
        let lines = Memo::new(move |_| {
            let (differs, twice) = others.get();
            touching::table(Setting { op: &OPS[0], differs, twice, gpu: false })
        });
        view! {
            <div class="matrix">
                <table>
                    <caption>"Each operation, and the clause that decides"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"The later instruction"</th>
                            <th scope="col">"On CPU"</th>
                            <th scope="col">"On GPU"</th>
                        </tr>
                    </thead>
                    <tbody>
                        {(0..OPS.len())
                            .map(|n| {
                                let line = move || lines.with(|l| l.get(n).cloned());
                                view! {
                                    <tr>
                                        <th scope="row">{OPS[n].name}</th>
                                        <Cell n gpu=false line=Signal::derive(line) />
                                        <Cell n gpu=true line=Signal::derive(line) />
                                    </tr>
                                }
                            })
                            .collect_view()}
                    </tbody>
                </table>
            </div>
        }
    }

    #[component]
    fn Cell(n: usize, gpu: bool, line: Signal<Option<Line>>) -> impl IntoView {
        let wb = use_workbench();
        let Touch { setting, .. } = expect_context();
        let verdict = move || line.get().and_then(|l| if gpu { l.gpu } else { l.cpu });
        let is_here = move || setting.with(|s| s.op == &OPS[n] && s.gpu == gpu);
        view! {
            <td>
                <button
                    type="button"
                    class="verdict-cell"
                    class:shares=move || verdict().is_some_and(Verdict::shares)
                    aria-pressed=move || is_here().to_string()
                    aria-label=move || {
                        verdict()
                            .map(|v| {
                                format!("{} on {}: {}, {}", OPS[n].name, if gpu { "GPU" } else { "CPU" }, v.word(), v.decided())
                            })
                    }
                    on:click=move |_| set(wb, Setting { gpu, ..setting.get_untracked() }.with_op(&OPS[n]))
                >
                    <b>{move || verdict().map(Verdict::word)}</b>
                    " "
                    <span>{move || verdict().map(Verdict::decided)}</span>
                </button>
            </td>
        }
    }

    /// The figure as a table: the values, with ranges and places.
    #[component]
    fn TouchTable() -> impl IntoView {
        let Touch { answer, .. } = expect_context();
        let rows = move || {
            answer.with(|a| {
                a.as_ref().map(|a| {
                    let temps = a.opened.original.picture.temps();
                    temps
                        .map(|i| {
                            view! {
                                <tr>
                                    <th scope="row" class="code">{i.name.clone()}</th>
                                    <td>{i.opcode.clone()}</td>
                                    <td class="n">{i.start}</td>
                                    <td class="n">{i.end}</td>
                                    <td class="n">{grouped(i.offset)}</td>
                                    <td class="n">{grouped(i.size)}</td>
                                </tr>
                            }
                        })
                        .collect_view()
                })
            })
        };
        view! {
            <table>
                <caption>"The values of the heap"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"Opcode"</th>
                        <th scope="col" class="n">"Written"</th>
                        <th scope="col" class="n">"Wanted until"</th>
                        <th scope="col" class="n">"Address"</th>
                        <th scope="col" class="n">"Bytes"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
