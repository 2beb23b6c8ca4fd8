//! Chapter 10: the nine refusals, each with a smallest module that can be changed.

use super::Chapter;
use crate::gates;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 10,
    slug: "nine-reasons-to-say-no",
    title: "Nine reasons to say no",
    question: "There is room in an allocation. What can still keep a value out?",
    figures: &["gates"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(packing, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The gate that is open at first: the one that refuses most often.
const FIRST: u8 = 7;

const TITLE: &str = "Nine gates, and a smallest module for each";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let lesson = gates::lesson(FIRST);
    let first = &lesson.first;
    let Ok(judged) = gates::judge(&first.module, &first.options, &first.presets) else { return Vec::new() };
    let Some(trial) = judged.watched(lesson).map(|t| &judged.trials[t]) else { return Vec::new() };
    vec![super::Poster {
        figure: "gates",
        title: TITLE,
        caption: format!("Gate {FIRST} refuses: {}.", trial.words),
        class: "gates-scene",
        scene: crate::scene::gates(Some(trial), 420.0),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{FIRST, TITLE, gates};
    use crate::figure::Figure;
    use crate::gates::{Answer, At, COUNT, Outcome, QUESTIONS, Trial};
    use crate::modules::FIRST_ID;
    use crate::scene;
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, coded};
    use crate::views::text_pane::TextPane;
    use crate::workbench::{Workbench, use_workbench};
    use leptos::ev::Event;
    use leptos::prelude::*;

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("gates", State::new(Source::Shipped(FIRST_ID.to_owned())));
        wb.say_with(move || {
            let lesson = gates::lesson(gate_of(wb));
            gates::verdict(lesson, &answer_of(wb, lesson.number)).words
        });
        wb.export(TITLE, move || {
            let lesson = gates::lesson(gate_of(wb));
            let judged = answer_of(wb, lesson.number).ok()?;
            let trial = judged.watched(lesson).map(|t| &judged.trials[t]);
            Some(scene::gates(trial, 420.0))
        });
        // The same module with a schedule.
        let scheduled = || {
            let copy = &gates::lesson(8).first;
            gates::judge(&copy.module, "", &copy.presets).unwrap_or_default()
        };
        let copied =
            move || scheduled().trials.into_iter().find(|t| t.buffer == "c" && t.gate.is_some_and(|g| g > 3));
        let answer = move || {
            Some(match copied().and_then(|t| t.gate) {
                Some(8) => 0,
                Some(_) => 1,
                None => 2,
            })
        };
        let explain = move |_: usize| match copied() {
            Some(t) => format!("Gate {} refuses: {}.", t.gate.unwrap_or_default(), t.words),
            None => "The copy goes in.".to_owned(),
        };
        let changed = Memo::new(move |_| {
            (1..=COUNT)
                .filter(|n| {
                    wb.state
                        .with(|s| s.word(&format!("t{n}")).is_some() || s.word(&format!("o{n}")).is_some())
                })
                .filter(|n| answer_of(wb, *n).is_ok_and(|j| j.passes(gates::lesson(*n))))
                .collect::<Vec<u8>>()
        });
        let puzzle = move || {
            let passed = changed.get();
            let names: Vec<String> = passed.iter().map(u8::to_string).collect();
            let progress = match passed.len() {
                0 => "none of the nine passes yet.".to_owned(),
                1 => format!("module {} passes.", names[0]),
                n => format!("{n} pass: modules {}.", assigner::words::list(&names, 9)),
            };
            Some(PuzzleResult { solved: passed.len() >= 3, progress })
        };
        view! {
            <p>
                "When XLA tries a buffer in an allocation, it asks nine questions, always in the same order. Each can "
                "say no. The first that does ends the trial, and the reason goes into the log. If none does, the buffer "
                "goes in, at the start of the allocation, and costs no memory at all. "
                <Rule section="8.5.1" />
            </p>
            <p>
                "In real programs two of them do nearly all the work: 3, because much of the memory that is there belongs "
                "to parameters, and 7, because two values are wanted at one time. XLA calls that "
                <dfn>"live range interference"</dfn>
                ". In all the programs that these rules were checked on, compiled by XLA for CPU and GPU, reasons 1, 2, 4, 5, 8 and 9 "
                "never occur in a log. 1 needs a second memory, 4 and 5 a value that the backend keeps out of the result. 2 is rare "
                "because the largest buffers are asked first, and 8 and 9 because 7 says no before them. So their modules below "
                "come with options that set them up, and what is said of them is less certain than the rest."
            </p>
            <Predict
                wb
                id="copy"
                question="The module of gate 8 has no schedule. With one, which gate keeps the copy from standing where its source stands?"
                options=Signal::derive(|| {
                    ["Gate 8, just the same", "An earlier gate: 7", "None: the copy goes in"].map(str::to_owned).to_vec()
                })
                answer=Signal::derive(answer)
                explain=Callback::new(explain)
            />
            <Figure
                wb
                title=TITLE
                caption="Left, the gates from top to bottom, with how far the chosen pair comes. Choose a gate to open its module; change the text or the options, and the assigner decides again."
                reserve=[838, 1288, 1464]
                table=GatesTable
            >
                <Gates />
            </Figure>
            <Puzzle
                id="pass"
                goal="change three of the nine modules so that their gate lets the pair pass and it goes in."
                check=Signal::derive(puzzle)
                hint="Gate 3: say in the header that the parameter is donated, with input_output_alias. Gate 7: take an instruction that works element by element. Gate 8: take anything but a copy. Under each module there is a way, too."
            />
        }
        .into_any()
    }

    fn gate_of(wb: Workbench) -> u8 {
        let n = wb.state.with(|s| s.number("gate")).and_then(|n| u8::try_from(n).ok());
        n.filter(|n| (1..=COUNT).contains(n)).unwrap_or(FIRST)
    }

    fn text_of(wb: Workbench, n: u8) -> String {
        let text = wb.state.with(|s| s.word(&format!("t{n}")).map(str::to_owned));
        text.unwrap_or_else(|| gates::lesson(n).first.module.clone())
    }

    fn options_of(wb: Workbench, n: u8) -> String {
        let options = wb.state.with(|s| s.word(&format!("o{n}")).map(str::to_owned));
        options.unwrap_or_else(|| gates::lesson(n).first.options.clone())
    }

    fn answer_of(wb: Workbench, n: u8) -> Answer {
        gates::judge(&text_of(wb, n), &options_of(wb, n), &gates::lesson(n).first.presets)
    }

    #[component]
    fn Gates() -> impl IntoView {
        let wb = use_workbench();
        let gate = Memo::new(move |_| gate_of(wb));
        let answer = Memo::new(move |_| answer_of(wb, gate.get()));
        // The pair that is followed through the gates: the lesson's own, unless the reader chose another.
        let chosen = Memo::new(move |_| {
            let (judged, lesson) = (answer.get().ok()?, gates::lesson(gate.get()));
            let asked = wb.state.with(|s| s.number("pair")).and_then(|n| usize::try_from(n).ok());
            asked.filter(|n| *n < judged.trials.len()).or_else(|| judged.watched(lesson))
        });
        let trial = Memo::new(move |_| answer.get().ok()?.trials.get(chosen.get()?).cloned());
        let open = move |n: u8| {
            wb.update(|s| {
                s.view.insert("gate".to_owned(), i64::from(n).into());
                s.view.remove("pair");
            });
        };
        let pairs = move || answer.get().map(|j| j.trials).unwrap_or_default();
        let choose = move |e: Event| {
            if let Ok(n) = event_target_value(&e).parse::<i64>() {
                wb.set_view("pair", n);
            }
        };
        let end = move || {
            trial.get().map(|t| match t.gate {
                Some(g) => format!("{} stops at gate {g}", t.buffer),
                None => format!("{} goes in", t.buffer),
            })
        };
        view! {
            <div class="gates-view">
                <div class="flow">
                    <label class="field pair">
                        "Pair"
                        <select on:change=choose>
                            {move || {
                                pairs()
                                    .into_iter()
                                    .enumerate()
                                    .map(|(n, t)| {
                                        view! {
                                            <option value=n.to_string() selected=move || chosen.get() == Some(n)>
                                                {format!("{} into the memory of {}", t.buffer, t.holder)}
                                            </option>
                                        }
                                    })
                                    .collect_view()
                            }}
                        </select>
                    </label>
                    <ol class="gates">
                        {(1..=COUNT)
                            .map(|n| {
                                let at = move || trial.get().map_or(At::NotReached, |t: Trial| t.at(n));
                                let sign = move || match at() {
                                    At::Passed => ("✓", "passed"),
                                    At::Stopped => ("✗", "refused here"),
                                    At::NotReached => ("", "not reached"),
                                };
                                view! {
                                    <li
                                        class:passed=move || at() == At::Passed
                                        class:stopped=move || at() == At::Stopped
                                    >
                                        <button
                                            type="button"
                                            aria-pressed=move || (gate.get() == n).to_string()
                                            on:click=move |_| open(n)
                                        >
                                            <span class="n">{n}</span>
                                            <span class="ask">{QUESTIONS[usize::from(n) - 1]}</span>
                                            <span class="sign" aria-hidden="true">{move || sign().0}</span>
                                            <span class="hidden">{move || sign().1}</span>
                                        </button>
                                    </li>
                                }
                            })
                            .collect_view()}
                        <li class="end" class:passed=move || trial.get().is_some_and(|t| t.gate.is_none())>{end}</li>
                    </ol>
                </div>
                // Made anew for each gate, so that nothing of the last one stays open.
                <For each=move || std::iter::once(gate.get()) key=|n| *n let(n)>
                    <Card n answer />
                </For>
            </div>
        }
    }

    /// A gate's module, and what the assigner makes of it now.
    #[component]
    fn Card(n: u8, answer: Memo<Answer>) -> impl IntoView {
        let wb = use_workbench();
        let lesson = gates::lesson(n);
        let verdict = Memo::new(move |_| gates::verdict(lesson, &answer.get()));
        let problems = Memo::new(move |_| answer.get().err().unwrap_or_default());
        let options = Memo::new(move |_| options_of(wb, n));
        let options_changed = move |e: Event| {
            let typed = event_target_value(&e);
            wb.set_param(&format!("o{n}"), typed.trim());
        };
        let is_changed = move || {
            wb.state.with(|s| s.word(&format!("t{n}")).is_some() || s.word(&format!("o{n}")).is_some())
        };
        let restore = move |_| {
            let mut next = wb.state.get_untracked();
            next.params.remove(&format!("t{n}"));
            next.params.remove(&format!("o{n}"));
            next.view.remove("pair");
            wb.set(next);
        };
        let apply = move |_| {
            let mut next = wb.state.get_untracked();
            next.params.insert(format!("t{n}"), lesson.then.module.as_str().into());
            next.params.insert(format!("o{n}"), lesson.then.options.as_str().into());
            next.view.remove("pair");
            wb.set(next);
        };
        let wrong_options =
            move || problems.with(|p| p.iter().find(|p| p.line == 0).map(|p| p.message.clone()));
        view! {
            <section class="lesson" aria-label=format!("Gate {n}: {}", lesson.title)>
                <h4>{format!("{n}. {}", lesson.title)}</h4>
                {lesson.prose.iter().map(|p| view! { <p>{coded(p)}</p> }).collect_view()}
                <TextPane
                    label=format!("HLO text of module {n}")
                    text=Signal::derive(move || text_of(wb, n))
                    problems
                    set=Callback::new(move |typed: String| wb.set_param(&format!("t{n}"), typed.as_str()))
                />
                <label class="field options">
                    "Options"
                    <input
                        type="text"
                        spellcheck="false"
                        autocapitalize="off"
                        autocomplete="off"
                        placeholder="none"
                        prop:value=move || options.get()
                        aria-invalid=move || wrong_options().is_some().to_string()
                        on:change=options_changed
                    />
                </label>
                <Show when=move || wrong_options().is_some()>
                    <p class="problems">{wrong_options}</p>
                </Show>
                {(!lesson.first.presets.is_empty())
                    .then(|| {
                        view! {
                            <details class="presets">
                                <summary>"What was placed before"</summary>
                                <pre tabindex="0">{lesson.first.presets.clone()}</pre>
                            </details>
                        }
                    })}
                <p
                    class="judgement"
                    class:passed=move || verdict.get().outcome == Outcome::Passed
                    class:stopped=move || verdict.get().outcome == Outcome::Stopped
                    role="status"
                    data-gate=n.to_string()
                >
                    <span class="sign" aria-hidden="true">
                        {move || match verdict.get().outcome {
                            Outcome::Passed => "✓ ",
                            Outcome::Stopped => "✗ ",
                            Outcome::Broken => "! ",
                        }}
                    </span>
                    {move || verdict.get().words}
                </p>
                <details class="advice">
                    <summary>"A way through"</summary>
                    <p>{coded(&lesson.advice)}</p>
                    <button type="button" on:click=apply>
                        "Put that text in"
                    </button>
                </details>
                <button type="button" class="restore" disabled=move || !is_changed() on:click=restore>
                    "The first text again"
                </button>
            </section>
        }
    }

    /// The figure as a table: the nine modules, and what the assigner says of each now.
    #[component]
    fn GatesTable() -> impl IntoView {
        let wb = use_workbench();
        view! {
            <table>
                <caption>"What the assigner says of each module now"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Gate"</th>
                        <th scope="col">"It asks"</th>
                        <th scope="col">"Options"</th>
                        <th scope="col">"Of its module"</th>
                    </tr>
                </thead>
                <tbody>
                    {(1..=COUNT)
                        .map(|n| {
                            let said = move || gates::verdict(gates::lesson(n), &answer_of(wb, n)).words;
                            view! {
                                <tr>
                                    <th scope="row" class="n">{n}</th>
                                    <td>{QUESTIONS[usize::from(n) - 1]}</td>
                                    <td class="code">{move || options_of(wb, n)}</td>
                                    <td>{said}</td>
                                </tr>
                            }
                        })
                        .collect_view()}
                </tbody>
            </table>
        }
    }
}
