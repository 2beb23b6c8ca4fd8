//! What would change it: edits of the reader's own module, each run again, and what would help most.

use super::panes::InWords;
use super::state::Lab;
use crate::talk::{self, Advised, Answer, Ask, ChangeLine, Donations, Edit, RoomLine, Source, Words};
use assigner::words::{both, difference, grouped};
use leptos::prelude::*;
use std::sync::Arc;

const ALIGNMENTS: [u64; 8] = [1, 16, 64, 128, 256, 512, 1024, 4096];

/// Changes that are told one by one; of more only what they come to, with the rest folded.
const FEW: usize = 6;

/// What is tried, in short; all of it is folded below.
#[component]
pub fn Tried(tried: Arc<talk::Tried>) -> impl IntoView {
    let first = tried.short.iter().take(FEW).cloned().collect::<Vec<_>>().join("; ");
    let is_all = tried.short.len() == tried.edits.len() && tried.short.len() <= FEW;
    let more = tried.short.len().saturating_sub(FEW);
    let first = if more > 0 { format!("{first}; {} more", grouped(more as u64)) } else { first };
    view! {
        <p>
            <b>"Tried: "</b>
            {first}
            "."
        </p>
        {(!is_all)
            .then(|| {
                view! {
                    <details class="all-edits">
                        <summary>{format!("All {} changes", grouped(tried.edits.len() as u64))}</summary>
                        <ul>{tried.edits.iter().map(|e| view! { <li>{e.clone()}</li> }).collect_view()}</ul>
                    </details>
                }
            })}
    }
}

/// What a trial came to.
#[component]
fn Outcome(lab: Lab, tried: Arc<talk::Tried>) -> impl IntoView {
    let row = |what: &'static str, (a, b): (u64, u64)| {
        view! {
            <tr role="row">
                <th scope="row" role="rowheader">{what}</th>
                <td class="number" role="cell" data-label="As it is">{both(a)}</td>
                <td class="number" role="cell" data-label="Tried">{both(b)}</td>
                <td class="number delta-cell" role="cell" data-label="Difference" class:less=b < a class:more=a < b>
                    {difference(a, b)}
                </td>
            </tr>
        }
    };
    let edits = tried
        .edits
        .iter()
        .enumerate()
        .map(|(i, e)| {
            view! {
                <li>
                    {e.clone()}
                    " "
                    <button
                        type="button"
                        class="back"
                        aria-label=format!("Take back: {e}")
                        on:click=move |_| lab.take_back(i)
                    >
                        "Take back"
                    </button>
                </li>
            }
        })
        .collect_view();
    let edits = view! { <ul class="edits">{edits}</ul> };
    view! {
        {if tried.edits.len() <= FEW {
            edits.into_any()
        } else {
            view! {
                <ul class="edits">
                    {tried.short.iter().take(FEW).map(|e| view! { <li>{e.clone()}</li> }).collect_view()}
                </ul>
                <details class="all-edits">
                    <summary>{format!("All {} changes, to be taken back one by one", grouped(tried.edits.len() as u64))}</summary>
                    {edits}
                </details>
            }
                .into_any()
        }}
        <p id="sound" class:problem=tried.is_unsound>
            {tried.sound.clone()}
        </p>
        <div class="scroll" tabindex="0" role="region" aria-label="What it came to">
            <table id="tried" class="cards" role="table">
                <thead role="rowgroup">
                    <tr role="row">
                        <th scope="col" role="columnheader">"Bytes"</th>
                        <th scope="col" role="columnheader">"As it is"</th>
                        <th scope="col" role="columnheader">"Tried"</th>
                        <th scope="col" role="columnheader">"Difference"</th>
                    </tr>
                </thead>
                <tbody role="rowgroup">
                    {row("All allocations", tried.total)} {row("Temporaries", tried.temp)}
                    {row("Most temporaries in use at once", tried.peak)}
                </tbody>
            </table>
        </div>
        {tried.words.iter().skip(3).map(|w| view! { <p>{w.clone()}</p> }).collect_view()}
    }
}

/// The pane.
#[component]
pub fn TryPane(lab: Lab) -> impl IntoView {
    let start = RwSignal::new(0u32);
    let last = RwSignal::new(0u32);
    Effect::new(move |_| {
        if let Some(range) = lab.detail.with(|d| d.as_ref().and_then(|d| d.line.range)) {
            start.set(range.0);
            last.set(range.1);
        }
    });
    let number = move |id: &'static str, label: &'static str, value: RwSignal<u32>| {
        view! {
            <span class="field">
                <label for=id>{label}</label>
                <input
                    id=id
                    type="number"
                    min="0"
                    prop:value=move || value.get().to_string()
                    on:change=move |e| value.set(event_target_value(&e).parse().unwrap_or(0))
                />
            </span>
        }
    };
    view! {
        <div class="actions" role="group" aria-label="Changes">
            <button type="button" id="undo" disabled=move || !lab.can_undo() on:click=move |_| lab.step_trial(-1)>
                "Undo"
            </button>
            <button type="button" id="redo" disabled=move || !lab.can_redo() on:click=move |_| lab.step_trial(1)>
                "Redo"
            </button>
            <button
                type="button"
                disabled=move || lab.trial().edits.is_empty()
                on:click=move |_| lab.try_all(crate::talk::Trial::default())
            >
                "Reset"
            </button>
        </div>
        <Keep lab />
        <div id="outcome" aria-live="polite">
            {move || match lab.tried.get() {
                Some(Ok(tried)) => view! { <Outcome lab tried /> }.into_any(),
                Some(Err(why)) => view! { <p class="problem" role="alert">{why}</p> }.into_any(),
                None => {
                    view! {
                        <p class="quiet">
                            "Nothing is changed. A change runs the assignment of this module again, by the same rules; the map and the lists then show that run."
                        </p>
                    }
                        .into_any()
                }
            }}
        </div>
        <h3>"The range of a value"</h3>
        {move || match lab.detail.get() {
            Some(detail) => {
                let name = detail.line.name.clone();
                let named = name.clone();
                view! {
                    <form
                        class="filters"
                        aria-label="Range"
                        on:submit=move |e| {
                            e.prevent_default();
                            lab.try_edit(Edit::Range {
                                name: named.clone(),
                                start: start.get_untracked(),
                                end: last.get_untracked(),
                            });
                        }
                    >
                        <span class="code">{name}</span>
                        {number("range-start", "from step", start)}
                        {number("range-end", "to step", last)}
                        <button type="submit">"Try it"</button>
                    </form>
                }
                    .into_any()
            }
            None => {
                view! {
                    <p class="quiet small">
                        "Select a value: its ends can be set here, or dragged on the map by the two handles."
                    </p>
                }
                    .into_any()
            }
        }}
        <Hand lab />
        <h3>"Copies"</h3>
        <div class="actions" role="group" aria-label="Copies">
            <button type="button" on:click=move |_| lab.try_edit(Edit::DropCopies)>
                "Leave every plain copy out"
            </button>
            <button type="button" on:click=move |_| lab.try_edit(Edit::InsertCopies)>
                "Run copy insertion"
            </button>
        </div>
        <Donation lab />
        <h3>"Alignment and packer"</h3>
        <div class="filters">
            <span class="field">
                <label for="alignment">"Alignment"</label>
                <select
                    id="alignment"
                    on:change=move |e| {
                        if let Ok(bytes) = event_target_value(&e).parse() {
                            lab.try_edit(Edit::Alignment { bytes });
                        }
                    }
                >
                    <option value="">"the target's own"</option>
                    {ALIGNMENTS
                        .iter()
                        .map(|a| view! { <option value=a.to_string()>{format!("{} B", grouped(*a))}</option> })
                        .collect_view()}
                </select>
            </span>
            <span class="field">
                <label for="algorithm">"Packer"</label>
                <select
                    id="algorithm"
                    on:change=move |e| {
                        let name = event_target_value(&e);
                        if !name.is_empty() {
                            lab.try_edit(Edit::Algorithm { name });
                        }
                    }
                >
                    <option value="">"the target's own"</option>
                    {packing::Algorithm::ALL
                        .iter()
                        .map(|a| view! { <option value=a.name()>{a.name()}</option> })
                        .collect_view()}
                </select>
            </span>
        </div>
        <SmallestHeap lab />
        <h3>"What would help most"</h3>
        <p class="small quiet">
            "Single changes are tried, the most promising first, each with the program run again and checked: donations, orders of instructions, copies, outputs."
        </p>
        <button
            type="button"
            id="advise"
            disabled=move || lab.searching.get().is_some()
            on:click=move |_| lab.advise()
        >
            "Try changes"
        </button>
        {move || {
            lab.advice
                .get()
                .map(|advice| {
                    view! {
                        <p class="summary">{advice.tried.clone()} {advice.gap.clone().map(|g| format!(" {g}"))}</p>
                        <Changes lab advice most=usize::MAX id="advice" />
                    }
                })
        }}
    }
}

/// Donations: all of them, or one of a list that can be searched.
#[component]
fn Donation(lab: Lab) -> impl IntoView {
    /// So many are offered without a search.
    const LISTED: usize = 8;
    let found = RwSignal::new(Donations::default());
    let wanted = RwSignal::new(String::new());
    lab.link.ask(Ask::Donations, move |answer| {
        if let Answer::Donations(answer) = answer {
            _ = found.try_set(answer);
        }
    });
    // Numbered through, those that can be made first.
    let chosen = RwSignal::new(0usize);
    let fits = move |words: &str| {
        wanted.with(|w| w.split_whitespace().all(|part| words.to_lowercase().contains(&part.to_lowercase())))
    };
    let shown = Memo::new(move |_| {
        found.with(|d| {
            let all = d.free.iter().chain(&d.taken).enumerate().filter(|(_, (words, _))| fits(words));
            all.map(|(i, (words, _))| (i, words.clone())).collect::<Vec<_>>()
        })
    });
    // What is chosen is one of those that are shown.
    Effect::new(move |_| {
        shown.with(|s| {
            if !s.iter().any(|(i, _)| *i == chosen.get_untracked()) {
                chosen.set(s.first().map_or(0, |s| s.0));
            }
        });
    });
    let try_it = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let at = chosen.get_untracked();
        let edit = found.with_untracked(|d| d.free.iter().chain(&d.taken).nth(at).map(|c| c.1.clone()));
        if let Some(edit) = edit {
            lab.try_edit(edit);
        }
    };
    let group = move |free: bool| {
        let first_taken = found.with(|d| d.free.len());
        let options: Vec<_> = shown.get().into_iter().filter(|(i, _)| (*i < first_taken) == free).collect();
        let count = grouped(options.len() as u64);
        let label = if free { format!("Can be donated ({count})") } else { format!("Donated now ({count})") };
        (!options.is_empty()).then(|| {
            view! {
                <optgroup label=label>
                    {options
                        .into_iter()
                        .map(|(i, words)| {
                            view! {
                                <option value=i.to_string() selected=move || chosen.get() == i>
                                    {words}
                                </option>
                            }
                        })
                        .collect_view()}
                </optgroup>
            }
        })
    };
    let count = move || found.with(|d| d.free.len() + d.taken.len());
    view! {
        <h3>"Donation"</h3>
        {move || {
            if count() == 0 {
                return view! { <p class="quiet small">"No argument is donated, and none fits an output that is free."</p> }
                    .into_any();
            }
            let all = found.with(|d| d.all.clone());
            let taken = found.with(|d| d.taken.iter().map(|t| t.1.clone()).collect::<Vec<_>>());
            let is_long = count() > LISTED;
            let size = count().clamp(2, LISTED) + 2;
            view! {
                <div class="actions" role="group" aria-label="Donate all or none">
                    {all
                        .map(|(words, edits)| {
                            view! {
                                <button type="button" id="donate-all" on:click=move |_| lab.try_edits(edits.clone())>
                                    {words}
                                </button>
                            }
                        })}
                    {(taken.len() > 1)
                        .then(|| {
                            view! {
                                <button type="button" id="donate-none" on:click=move |_| lab.try_edits(taken.clone())>
                                    {format!("Donate none of the {} that are", grouped(taken.len() as u64))}
                                </button>
                            }
                        })}
                </div>
                <form class="donation" aria-label="Donation" on:submit=try_it>
                    {is_long
                        .then(|| {
                            view! {
                                <span class="field">
                                    <label for="donation-filter">"Only those with"</label>
                                    <input
                                        id="donation-filter"
                                        type="search"
                                        spellcheck="false"
                                        placeholder="argument 3"
                                        on:input=move |e| wanted.set(event_target_value(&e))
                                    />
                                    <span class="small quiet" role="status">
                                        {move || {
                                            format!(
                                                "{} of {}",
                                                grouped(shown.with(Vec::len) as u64),
                                                grouped(count() as u64),
                                            )
                                        }}
                                    </span>
                                </span>
                            }
                        })}
                    <label class="hidden" for="donation">
                        "Which donation"
                    </label>
                    <select
                        id="donation"
                        size=size.to_string()
                        on:change=move |e| chosen.set(event_target_value(&e).parse().unwrap_or(0))
                    >
                        {move || group(true)}
                        {move || group(false)}
                    </select>
                    {move || {
                        let more = found.with(|d| d.more);
                        (more > 0)
                            .then(|| view! { <p class="small quiet">{format!("{} more are not listed.", grouped(u64::from(more)))}</p> })
                    }}
                    <button type="submit" disabled=move || shown.with(Vec::is_empty)>
                        "Try it"
                    </button>
                </form>
            }
                .into_any()
        }}
    }
}

/// The changes that would help most, each to be tried.
#[component]
pub fn Changes(lab: Lab, advice: Arc<Advised>, most: usize, id: &'static str) -> impl IntoView {
    if advice.changes.is_empty() {
        return view! { <p>"No single change that was tried saves anything."</p> }.into_any();
    }
    let changes = advice
        .changes
        .iter()
        .take(most)
        .cloned()
        .map(|change| {
            let ChangeLine { what, saves, temp, edits } = change;
            let temps = (temp.1 < temp.0)
                .then(|| format!("Temporaries take {} instead of {}.", both(temp.1), both(temp.0)));
            let wanted = edits.clone();
            let is_tried = Memo::new(move |_| {
                let now = lab.trial().edits;
                wanted.iter().all(|e| now.contains(e))
            });
            view! {
                <li>
                    <b>{format!("saves {}", both(saves))}</b>
                    ": "
                    {what}
                    ". "
                    {temps.map(|t| view! { <span class="quiet">{t}</span> " " })}
                    <button
                        type="button"
                        class="back"
                        disabled=move || is_tried.get()
                        on:click=move |_| lab.try_edits(edits.clone())
                    >
                        {move || if is_tried.get() { "Is tried" } else { "Try it" }}
                    </button>
                </li>
            }
        })
        .collect_view();
    let is_before = move || lab.tried.with(|t| matches!(t, Some(Ok(_))));
    view! {
        {move || {
            is_before()
                .then(|| {
                    view! {
                        <p class="small before-tried">
                            "Of the program as it was, without what is tried now; what two changes save together may be less than the sum."
                        </p>
                    }
                })
        }}
        <ol class="advice" id=id>
            {changes}
        </ol>
        {advice.cautions.iter().map(|c| view! { <p class="small quiet caution">{c.clone()}</p> }).collect_view()}
    }
    .into_any()
}

/// How small the heaps could be, by an exact search with a limit of time.
#[component]
fn SmallestHeap(lab: Lab) -> impl IntoView {
    let seconds = RwSignal::new(10u32);
    let answer = RwSignal::new(None::<Result<Words, String>>);
    // Whose heaps: what is packed otherwise, and XLA's own, are searched as ours.
    let of = Memo::new(move |_| match lab.source.get() {
        Source::Tried => Source::Tried,
        Source::Packed => lab.packing.with(|p| p.as_ref().map_or(Source::Ours, |p| p.of)),
        Source::Dump | Source::Ours => Source::Ours,
    });
    // What was found is of one assignment; another one has its own.
    let looked_at = StoredValue::new(0u32);
    Effect::new(move |_| {
        of.get();
        lab.tried.track();
        looked_at.update_value(|n| *n += 1);
        answer.set(None);
    });
    let find = move |_| {
        lab.link.progress.set(Some(crate::talk::Progress {
            stage: "Looking for the smallest heap".to_owned(),
            ..crate::talk::Progress::default()
        }));
        lab.searching.set(Some(true));
        let source = of.get_untracked();
        let ask = Ask::Smallest { source, seconds: seconds.get_untracked() };
        let asked_of = looked_at.get_value();
        lab.link.ask(ask, move |said| {
            lab.searching.set(None);
            match said {
                _ if looked_at.try_get_value() != Some(asked_of) => {}
                Answer::Smallest { words, packings } => {
                    lab.announced.set(words.lines.first().cloned().unwrap_or_default());
                    answer.set(Some(Ok(words)));
                    lab.pack(source, packings);
                }
                Answer::Failed(why) => answer.set(Some(Err(why))),
                _ => {}
            }
        });
    };
    let is_packed = move || lab.source.get() == Source::Packed;
    let on_map = move || {
        lab.packing.get().map(|_| {
            view! {
                <div class="switch-source" id="on-map" role="group" aria-label="Which packing the map shows">
                    <button type="button" aria-pressed=move || (!is_packed()).to_string() on:click=move |_| lab.unpack()>
                        "The packer's"
                    </button>
                    <button
                        type="button"
                        aria-pressed=move || is_packed().to_string()
                        on:click=move |_| lab.look_at(Source::Packed)
                    >
                        "The smallest found"
                    </button>
                </div>
            }
        })
    };
    view! {
        <h3>"The smallest heap"</h3>
        <p class="small quiet">
            "The packer places one value after the other and takes none back. An exact search says how much is lost by that: it ends with a proof, or with what it has found when its time is over or it is stopped."
        </p>
        <div class="filters">
            <span class="field">
                <label for="smallest-time">"For at most"</label>
                <select
                    id="smallest-time"
                    on:change=move |e| seconds.set(event_target_value(&e).parse().unwrap_or(10))
                >
                    {[2u32, 10, 60]
                        .map(|s| {
                            view! {
                                <option value=s.to_string() selected=s == 10>
                                    {format!("{s} seconds")}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </span>
            <button
                type="button"
                id="smallest"
                disabled=move || lab.searching.get().is_some()
                on:click=find
            >
                "Find the smallest heap"
            </button>
        </div>
        {on_map}
        <div id="smallest-found">
            {move || {
                answer
                    .get()
                    .map(|a| match a {
                        Ok(words) => view! { <InWords words /> }.into_any(),
                        Err(why) => view! { <p class="problem" role="alert">{why}</p> }.into_any(),
                    })
            }}
        </div>
    }
}

/// Moving the instruction that makes the selected value, and leaving out reads of it.
#[component]
fn Hand(lab: Lab) -> impl IntoView {
    move || {
        let Some(hands) = lab.hands.get() else {
            return view! {
                <h3>"The instruction, and who reads"</h3>
                <p class="quiet small">
                    "Select a value: the instruction that makes it can be moved within its dependencies, here or by the square handle on the map, and reads of it can be left out."
                </p>
            }
                .into_any();
        };
        let room = hands.room.clone().filter(|r| r.ends().0 < r.ends().1);
        let instruction = hands.instruction.clone();
        let copy = hands.is_copy.then(|| Edit::DropCopy { name: hands.instruction.clone() });
        view! {
            <h3>"The instruction, and who reads"</h3>
            <p id="room">{hands.words.clone()}</p>
            {room.map(|room| view! { <Mover lab room name=instruction /> })}
            {copy
                .map(|edit| {
                    view! {
                        <button type="button" on:click=move |_| lab.try_edit(edit.clone())>
                            "Leave this copy out"
                        </button>
                    }
                })}
            {if hands.reads.is_empty() {
                view! { <p class="quiet small">"No single read of it can be left out."</p> }.into_any()
            } else {
                view! {
                    <ul class="edits" id="reads" aria-label="Reads">
                        {hands
                            .reads
                            .iter()
                            .cloned()
                            .map(|(words, edit)| {
                                let label = format!("Leave out the read by {words}");
                                view! {
                                    <li>
                                        "Read by "
                                        {words}
                                        " "
                                        <button
                                            type="button"
                                            class="back"
                                            aria-label=label
                                            on:click=move |_| lab.try_edit(edit.clone())
                                        >
                                            "Leave it out"
                                        </button>
                                    </li>
                                }
                            })
                            .collect_view()}
                    </ul>
                }
                    .into_any()
            }}
        }
        .into_any()
    }
}

/// The step at which an instruction runs, by number, by a slider and by buttons.
#[component]
fn Mover(lab: Lab, room: RoomLine, name: String) -> impl IntoView {
    let (first, last) = room.ends();
    let now = room.now;
    let to = RwSignal::new(now);
    let room = StoredValue::new(room);
    let name = StoredValue::new(name);
    let go = move |step: u32| {
        if step != now {
            lab.try_edit(Edit::Move { name: name.get_value(), to: step });
        }
    };
    let set = move |text: String| {
        if let Ok(step) = text.parse() {
            to.set(room.with_value(|r| r.nearest(step)));
        }
    };
    let next = move |later: bool| go(room.with_value(|r| r.next(now, later)));
    view! {
        <form
            class="filters"
            id="move"
            aria-label="Move"
            on:submit=move |e| {
                e.prevent_default();
                go(to.get_untracked());
            }
        >
            <span class="field">
                <label for="move-to">"run at step"</label>
                <input
                    id="move-to"
                    type="number"
                    min=first.to_string()
                    max=last.to_string()
                    prop:value=move || to.get().to_string()
                    on:change=move |e| set(event_target_value(&e))
                />
            </span>
            <input
                type="range"
                aria-label="Step"
                min=first.to_string()
                max=last.to_string()
                prop:value=move || to.get().to_string()
                on:input=move |e| set(event_target_value(&e))
            />
            <button type="submit">"Try it"</button>
            <button type="button" disabled=now == first on:click=move |_| go(first)>
                "Earliest"
            </button>
            <button type="button" disabled=now == first on:click=move |_| next(false)>
                "One earlier"
            </button>
            <button type="button" disabled=now == last on:click=move |_| next(true)>
                "One later"
            </button>
            <button type="button" disabled=now == last on:click=move |_| go(last)>
                "Latest"
            </button>
        </form>
    }
}

/// What is tried as a link, or as a file where a link would be too long.
#[component]
fn Keep(lab: Lab) -> impl IntoView {
    let said = RwSignal::new(String::new());
    Effect::new(move |_| {
        lab.at_trial.track();
        said.set(String::new());
    });
    let link = move |_| {
        let ask = Ask::Link {
            sample: lab.sample.get_untracked(),
            trial: lab.trial_now(),
            beside: lab.beside.get_untracked(),
        };
        lab.link.ask(ask, move |answer| match answer {
            Answer::Link { hash: Some(hash), .. } => {
                let location = window().location();
                let href = location.href().unwrap_or_default();
                let href = format!("{}#{hash}", href.split('#').next().unwrap_or_default());
                let is_own = lab.sample.get_untracked().is_none();
                leptos::task::spawn_local(async move {
                    said.set(if !browser::copy(&href).await {
                        "The browser does not let this page use the clipboard.".to_owned()
                    } else if is_own {
                        "The link is on the clipboard. It holds the module's text: who gets it can read that.".to_owned()
                    } else {
                        "The link is on the clipboard.".to_owned()
                    });
                });
            }
            Answer::Link { hash: None, length, most } => said.set(format!(
                "The link would have {} characters; more than {} do not pass everywhere. Save the file instead: it holds module and changes, and opens here.",
                grouped(u64::from(length)),
                grouped(u64::from(most))
            )),
            Answer::Failed(why) => said.set(why),
            _ => {}
        });
    };
    let file = move |_| {
        lab.link.ask(Ask::Keep(lab.trial_now()), move |answer| {
            if let Answer::File { name, text } = answer {
                browser::download(&format!("{}.{name}", lab.file_name()), &text, "application/json");
                said.set("Module and changes are saved; the file opens here as any other, and with bufferscope try --edits.".to_owned());
            }
        });
    };
    view! {
        <div class="actions" role="group" aria-label="Keep">
            <button type="button" id="copy-link" on:click=link>
                "Copy link"
            </button>
            <button type="button" id="save-trial" on:click=file>
                "Save module and changes"
            </button>
            <span role="status" class="small" id="kept">
                {move || said.get()}
            </span>
        </div>
    }
}
