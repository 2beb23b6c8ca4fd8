//! Allocations with their owners, the decision log, and questions in words.

use super::state::Lab;
use crate::rows::space_name;
use crate::talk::{Answer, Ask, DECISION_KINDS, DecisionLine, Filter, Kind, SlabRow, Words};
use crate::topics::TOPICS;
use assigner::words::{both, grouped};
use leptos::prelude::*;
use std::sync::Arc;

/// Allocations: who owns them, and what keeps its address from run to run.
#[component]
pub fn SlabPane(lab: Lab) -> impl IntoView {
    let slabs = RwSignal::new(Vec::<SlabRow>::new());
    Effect::new(move |_| {
        if lab.map.with(Option::is_none) {
            return;
        }
        lab.link.ask(Ask::Slabs { source: lab.source.get() }, move |answer| {
            if let Answer::Slabs(rows) = answer {
                slabs.set(rows);
            }
        });
    });
    let total = move || slabs.with(|s| s.iter().fold(0u64, |sum, r| sum.saturating_add(r.face.size)));
    let owners = move || {
        let all = total();
        Kind::ALL
            .iter()
            .map(|k| {
                let of = |s: &&SlabRow| s.face.kind == *k;
                let (bytes, count) = slabs.with(|s| {
                    s.iter()
                        .filter(of)
                        .fold((0u64, 0u32), |(b, c), r| (b.saturating_add(r.face.size), c + r.count))
                });
                let share = if all == 0 { 0.0 } else { bytes as f64 * 100.0 / all as f64 };
                view! {
                    <tr>
                        <th scope="row">{k.name()}</th>
                        <td class="number">{grouped(u64::from(count))}</td>
                        <td class="number">{both(bytes)}</td>
                        <td class="number">{format!("{share:.1} %")}</td>
                        <td>{k.role().address()}</td>
                    </tr>
                }
            })
            .collect_view()
    };
    let rows = move || {
        slabs
            .get()
            .into_iter()
            .take(1000)
            .map(|s| {
                let number = s.face.number;
                let only = s.count == 1;
                view! {
                    <tr>
                        <th scope="row">
                            {if only {
                                view! {
                                    <button
                                        type="button"
                                        class="link"
                                        on:click=move |_| {
                                            lab.filter
                                                .set(Filter {
                                                    allocation: Some(number),
                                                    ..Filter::default()
                                                });
                                            lab.when.set(super::state::When::Ever);
                                            lab.group.set(crate::talk::Group::None);
                                            lab.tab.set(super::state::Tab::Values);
                                        }
                                    >
                                        {format!("allocation {number}")}
                                    </button>
                                }
                                    .into_any()
                            } else {
                                format!("{} allocations", grouped(u64::from(s.count))).into_any()
                            }}
                        </th>
                        <td>{s.face.kind.name()}</td>
                        <td>{space_name(s.face.color)}</td>
                        <td class="number">{both(s.face.size)}</td>
                        <td class="number">{both(s.most_live)}</td>
                        <td class="number">{grouped(u64::from(s.values))}</td>
                        <td class="small">{s.words}</td>
                    </tr>
                }
            })
            .collect_view()
    };
    view! {
        <h3>"Whose memory it is"</h3>
        <div class="scroll" tabindex="0" role="region" aria-label="Owners">
            <table id="owners">
                <thead>
                    <tr>
                        <th scope="col">"Kind"</th>
                        <th scope="col">"Allocations"</th>
                        <th scope="col">"Bytes"</th>
                        <th scope="col">"Share"</th>
                        <th scope="col">"Its address, from run to run"</th>
                    </tr>
                </thead>
                <tbody>{owners}</tbody>
            </table>
        </div>
        <h3>"Allocations, the largest first"</h3>
        <div class="scroll" tabindex="0" role="region" aria-label="Allocations">
            <table id="slabs">
                <thead>
                    <tr>
                        <th scope="col">"Allocation"</th>
                        <th scope="col">"Kind"</th>
                        <th scope="col">"Memory space"</th>
                        <th scope="col">"Bytes"</th>
                        <th scope="col">"In use at the peak"</th>
                        <th scope="col">"Values"</th>
                        <th scope="col">"What is in it"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

const PAGE: u32 = 200;

/// The decision log of our assignment.
#[component]
pub fn DecisionPane(lab: Lab) -> impl IntoView {
    let kind = RwSignal::new(None::<String>);
    let pattern = RwSignal::new(String::new());
    let from = RwSignal::new(0u32);
    let shown = RwSignal::new((Vec::<DecisionLine>::new(), 0u32, 0u32));
    let problem = RwSignal::new(None::<String>);
    // Typing is quicker than a long log is searched: the last answer counts.
    let asked = StoredValue::new(0u32);
    Effect::new(move |_| {
        asked.update_value(|n| *n += 1);
        let number = asked.get_value();
        let ask = Ask::Decisions { kind: kind.get(), pattern: pattern.get(), from: from.get(), count: PAGE };
        lab.link.ask(ask, move |answer| match answer {
            _ if asked.try_get_value() != Some(number) => {}
            Answer::Decisions { lines, fitting, of } => {
                problem.set(None);
                shown.set((lines, fitting, of));
            }
            Answer::Failed(why) => problem.set(Some(why)),
            _ => {}
        });
    });
    view! {
        <p class="quiet small">
            "Every decision of our assignment of this module, in order: the rules are XLA's, and the numbers of allocations are those of the moment."
        </p>
        <form class="filters" aria-label="Filter of decisions" on:submit=move |e| e.prevent_default()>
            <span class="field">
                <label for="decision-kind">"Kind"</label>
                <select
                    id="decision-kind"
                    on:change=move |e| {
                        let v = event_target_value(&e);
                        from.set(0);
                        kind.set((!v.is_empty()).then_some(v));
                    }
                >
                    <option value="">"all"</option>
                    {DECISION_KINDS.iter().map(|k| view! { <option value=*k>{*k}</option> }).collect_view()}
                </select>
            </span>
            <span class="field search">
                <label for="decision-pattern">"Matching"</label>
                <span class="with-error">
                    <input
                        id="decision-pattern"
                        type="search"
                        spellcheck="false"
                        placeholder="regular expression"
                        aria-describedby="decision-wrong"
                        aria-invalid=move || problem.with(Option::is_some).then_some("true")
                        on:input=move |e| {
                            from.set(0);
                            pattern.set(event_target_value(&e));
                        }
                    />
                    <span class="error small" id="decision-wrong" role="alert">
                        {move || problem.get()}
                    </span>
                </span>
            </span>
        </form>
        <p class="summary" role="status">
            {move || {
                let (_, fitting, of) = shown.get();
                format!("{} of {} decisions.", grouped(u64::from(fitting)), grouped(u64::from(of)))
            }}
        </p>
        <ol class="decisions" id="decisions">
            {move || {
                shown
                    .get()
                    .0
                    .into_iter()
                    .map(|d| {
                        let text = d.text;
                        view! {
                            <li>
                                <span class="quiet number">{grouped(u64::from(d.number))}</span>
                                {match d.row {
                                    Some(row) => {
                                        view! {
                                            <button
                                                type="button"
                                                class="link"
                                                on:click=move |_| {
                                                    if lab.chosen.with_untracked(|c| {
                                                        c.as_ref().is_some_and(|c| c.sources.len() > 1)
                                                    }) {
                                                        lab.look_at(crate::talk::Source::Ours);
                                                    }
                                                    lab.select(row);
                                                }
                                            >
                                                {text}
                                            </button>
                                        }
                                            .into_any()
                                    }
                                    None => view! { <span>{text}</span> }.into_any(),
                                }}
                            </li>
                        }
                    })
                    .collect_view()
            }}
        </ol>
        <div class="actions">
            <button
                type="button"
                disabled=move || from.get() == 0
                on:click=move |_| from.update(|f| *f = f.saturating_sub(PAGE))
            >
                "Before"
            </button>
            <button
                type="button"
                disabled=move || { from.get() + PAGE >= shown.with(|s| s.1) }
                on:click=move |_| from.update(|f| *f += PAGE)
            >
                "After"
            </button>
        </div>
    }
}

/// Headings of columns that name values.
const NAMES: [&str; 4] = ["Value", "Copy", "Constant", "What"];

/// Is it a figure, with or without its unit?
fn is_number(cell: &str) -> bool {
    let mut chars = cell.trim_start_matches(['+', '\u{2212}', '±']).chars();
    let is_unit = |word: &str| matches!(word, "B" | "KiB" | "MiB" | "GiB" | "TiB" | "%");
    chars.next().is_some_and(|c| c.is_ascii_digit())
        && cell.split([' ', '(', ')', ',']).all(|part| {
            let digits = part.trim_start_matches(['+', '\u{2212}', '±']).trim_end_matches('%');
            is_unit(part) || digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        })
}

/// A cell; several lines are a list.
fn cell(text: &str) -> AnyView {
    if !text.contains('\n') {
        return text.to_owned().into_any();
    }
    let items = text.lines().map(|l| view! { <li>{l.to_owned()}</li> }).collect_view();
    view! { <ul class="items">{items}</ul> }.into_any()
}

/// An answer in words. With the page's state, the values that its table names can be selected.
#[component]
pub fn InWords(words: Words, #[prop(optional)] lab: Option<Lab>) -> impl IntoView {
    let mut table = words.table.into_iter();
    let head = table.next();
    // On a narrow screen each line is a card, in which cells say what they are.
    let labels: Arc<[String]> = head.iter().flatten().cloned().collect();
    // Headings of figures stand over them.
    let table: Vec<Vec<String>> = table.collect();
    let has_numbers = |column: usize| {
        let mut cells = table.iter().filter_map(|r| r.get(column)).filter(|c| !c.is_empty()).peekable();
        column > 0 && cells.peek().is_some() && cells.all(|c| is_number(c))
    };
    let numbers: Vec<bool> = (0..labels.len()).map(has_numbers).collect();
    let lab = lab.filter(|_| head.iter().flatten().next().is_some_and(|h| NAMES.contains(&h.as_str())));
    let first = move |name: String| match lab {
        Some(lab) => {
            let wanted = name.clone();
            view! {
                <button type="button" class="link code" on:click=move |_| lab.select_named(&wanted)>
                    {name}
                </button>
            }
            .into_any()
        }
        None => name.into_any(),
    };
    view! {
        <section class="answer">
            <h4>{words.title}</h4>
            {words.lines.into_iter().map(|l| view! { <p>{l}</p> }).collect_view()}
            {head
                .map(|head| {
                    view! {
                        <div class="scroll" tabindex="0" role="region" aria-label="Table of the answer">
                            <table class="cards" role="table">
                                <thead role="rowgroup">
                                    <tr role="row">
                                        {head
                                            .into_iter()
                                            .zip(numbers)
                                            .map(|(h, number)| {
                                                view! { <th scope="col" role="columnheader" class:number=number>{h}</th> }
                                            })
                                            .collect_view()}
                                    </tr>
                                </thead>
                                <tbody role="rowgroup">
                                    {table
                                        .into_iter()
                                        .map(|r| {
                                            let mut cells = r.into_iter();
                                            let name = cells.next().map(|c| view! { <td role="cell">{first(c)}</td> });
                                            let labels = Arc::clone(&labels);
                                            view! {
                                                <tr role="row">
                                                    {name}
                                                    {cells
                                                        .enumerate()
                                                        .map(|(i, c)| {
                                                            let label = labels.get(i + 1).cloned().unwrap_or_default();
                                                            view! {
                                                                <td role="cell" class:number=is_number(&c) class:empty=c.is_empty() data-label=label>
                                                                    {cell(&c)}
                                                                </td>
                                                            }
                                                        })
                                                        .collect_view()}
                                                </tr>
                                            }
                                        })
                                        .collect_view()}
                                </tbody>
                            </table>
                        </div>
                    }
                })}
        </section>
    }
}

/// Questions.
#[component]
pub fn AskPane(lab: Lab) -> impl IntoView {
    let answer = RwSignal::new(None::<Result<Words, String>>);
    let a = move || lab.pair.with(|p| p.0.clone());
    let b = move || lab.pair.with(|p| p.1.clone());
    let take = move |said: Answer| match said {
        Answer::Words(words) => {
            lab.announced.set(words.lines.first().cloned().unwrap_or_else(|| words.title.clone()));
            answer.set(Some(Ok(words)));
        }
        Answer::Failed(why) => answer.set(Some(Err(why))),
        _ => {}
    };
    let ask_pair = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        lab.link.ask(Ask::Pair { a: a(), b: b() }, take);
    };
    let reduce = move |_| {
        lab.reduce(a(), b(), move |said| match said {
            Answer::Reduced { text, before, after, stopped } => {
                let name = format!("{}.reduced.txt", lab.file_name());
                browser::download(&name, &text, "text/plain");
                let line = format!(
                    "{} of {} instructions are left, in which the two still share, or do not, for the same reason: for a bug report.",
                    grouped(after),
                    grouped(before)
                );
                let early = stopped.then(|| {
                    "Stopped early: this is the smallest so far, and a smaller one may be found by letting it go on.".to_owned()
                });
                lab.announced.set(early.clone().unwrap_or_else(|| line.clone()));
                answer.set(Some(Ok(Words {
                    title: format!("{name} is saved"),
                    lines: std::iter::once(line).chain(early).collect(),
                    table: Vec::new(),
                })));
            }
            Answer::Failed(why) => answer.set(Some(Err(why))),
            _ => {}
        });
    };
    view! {
        <form class="filters" id="ask-pair" aria-label="Two values" on:submit=ask_pair>
            <span class="field search">
                <label for="pair-a">"Why do A"</label>
                <input
                    id="pair-a"
                    class="code"
                    spellcheck="false"
                    placeholder="fusion.1"
                    prop:value=a
                    on:input=move |e| lab.pair.update(|p| p.0 = event_target_value(&e))
                />
            </span>
            <span class="field search">
                <label for="pair-b">"and B share, or not?"</label>
                <input
                    id="pair-b"
                    class="code"
                    spellcheck="false"
                    placeholder="while.2{0}"
                    prop:value=b
                    on:input=move |e| lab.pair.update(|p| p.1 = event_target_value(&e))
                />
            </span>
            <button type="submit">"Ask"</button>
            <button
                type="button"
                id="reduce"
                disabled=move || lab.searching.get().is_some()
                on:click=reduce
            >
                "Save a small module that shows it"
            </button>
        </form>
        <div class="topics" role="group" aria-label="Questions about the module">
            {TOPICS
                .iter()
                .map(|(topic, question)| {
                    view! {
                        <button
                            type="button"
                            on:click=move |_| {
                                let ask = Ask::Topic {
                                    source: lab.source.get_untracked(),
                                    topic: (*topic).to_owned(),
                                };
                                lab.link.ask(ask, take);
                            }
                        >
                            {*question}
                        </button>
                    }
                })
                .collect_view()}
            <button
                type="button"
                on:click=move |_| lab.link.ask(Ask::Check { source: lab.source.get_untracked() }, take)
            >
                "Is it right? Execute it"
            </button>
        </div>
        <div id="answer">
            {move || {
                answer
                    .get()
                    .map(|a| match a {
                        Ok(words) => view! { <InWords words lab /> }.into_any(),
                        Err(why) => view! { <p class="problem" role="alert">{why}</p> }.into_any(),
                    })
            }}
        </div>
    }
}
