//! Chapter 11: copy insertion.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 11,
    slug: "the-copy-you-never-see",
    title: "The copy you never see",
    question: "Nobody wrote a copy, and yet there is one. Who put it there, and what would let it go?",
    figures: &["copies"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(files, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const TITLE: &str = "Copy insertion, phase by phase";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let Some(a) = crate::copying::answer(&crate::copying::Setting::default()) else { return Vec::new() };
    let why = a.suggested().map(|n| a.copies[n].refusal.clone()).unwrap_or_default();
    vec![super::Poster {
        figure: "copies",
        title: TITLE,
        scene: crate::scene::copying(&a, 4, a.suggested(), 900.0),
        caption: format!("{} One of them stays because {why}.", a.sentence(4)),
        class: "copying",
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::TITLE;
    use crate::copying::{
        self, Advice, Answer, CASES, Copy, Presence, STAGE_WORDS, STAGES, Setting, fate_words, names,
        rule_title,
    };
    use crate::figure::Figure;
    use crate::modules::FIRST_ID;
    use crate::scene;
    use crate::state::{Selection, Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule};
    use crate::views::choose::OneOf;
    use crate::views::drawn::Drawn;
    use crate::views::scrubber::Scrubber;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, grouped};
    use leptos::ev::Event;
    use leptos::prelude::*;

    /// What the pass makes of the present setting, for the figure and the prose around it.
    #[derive(Clone, Copy)]
    struct Copying {
        setting: Memo<Setting>,
        answer: Memo<Option<Shared<Answer>>>,
    }

    /// The last phase, unless the reader went back.
    fn stage_of(wb: Workbench) -> usize {
        let asked = wb.state.with(|s| s.number("phase")).and_then(|n| usize::try_from(n).ok());
        asked.unwrap_or(usize::MAX).min(STAGES.len() - 1)
    }

    fn go(wb: Workbench, stage: u32) {
        if stage as usize + 1 >= STAGES.len() {
            wb.clear_view("phase");
        } else {
            wb.set_view("phase", i64::from(stage));
        }
    }

    fn set(wb: Workbench, setting: &Setting) {
        let now = wb.state.get_untracked();
        let mut next = setting.put(&now);
        // Numbers of copies belong to a program.
        if next.word("case") != now.word("case") {
            next.selection = Selection::Suggested;
        }
        wb.set(next);
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("copies", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let answer = Memo::new(move |_| {
            let s = setting.get();
            wb.awake.get().then(|| copying::answer(&s)).flatten().map(Shared::new)
        });
        provide_context(Copying { setting, answer });
        wb.say_with(move || answer.with_untracked(|a| a.as_ref().map(|a| a.sentence(4))).unwrap_or_default());
        let options = [
            "None: both go",
            "One: the argument is donated all the same, and its copy stays",
            "Both: an order changes nothing",
        ];
        let predicted = move || {
            let (before, after) = copying::read_first()?;
            Some(match after.stayed().count() {
                0 => 0,
                n if n < before.stayed().count() => 1,
                _ => 2,
            })
        };
        let explain = move |_: usize| {
            let Some((before, after)) = copying::read_first() else { return String::new() };
            let why = before.suggested().map(|n| before.copies[n].refusal.clone()).unwrap_or_default();
            format!("As it was: {why}. With the order that one read is over in time. {}", after.sentence(4))
        };
        let check = move || {
            let (solved, progress) = answer.with(|a| a.as_ref().map(|a| a.puzzle()))?;
            Some(PuzzleResult { solved, progress })
        };
        view! {
            <p>
                "Values that must share a buffer can get in each other's way: the new value is written while somebody still "
                "wants the old one. Then, and only then, the old value has to be saved somewhere else first. XLA's pass for "
                "that is called " <dfn>"copy insertion"</dfn>
                ". It runs late, when all fusions are made and before there is a schedule, and nothing in your program shows "
                "it: you only see that the memory grew, and a kernel called " <span class="code">"copy"</span> " in a profile. "
                <Rule section="11" />
            </p>
            <p>
                "The pass does it the safe way round. First it " <i>"adds"</i>
                " a copy at every place where values might clash: around loops, at the ends of branches, before operations "
                "that write in place, at donated arguments. Then it tries to " <i>"remove"</i>
                " each of them: the values of a buffer stand in a list in the order in which they are written, and a copy goes "
                "if the list of the value it reads and that of the value it makes can be joined so that each value's last reader is certain to be done before the "
                "next value is written. That certainty is a proof from the program's dependencies, for the schedule is not "
                "there yet: " <i>"a reader that nothing forces to be early counts as late"</i> ". Rounds go on until none can "
                "be removed. Last come " <i>"special cases"</i>
                ", for what no order could make up for: a constant, or an argument that was not donated, must not be written "
                "over, and each output needs a buffer of its own. " <Rule section="11.1" /> " " <Rule section="11.2" /> " " <Rule section="11.5" />
            </p>
            <Predict
                wb
                id="first"
                question=Signal::derive(|| {
                    "The first program below reads one number of a donated matrix and then changes the matrix in place. Two copies of the whole matrix stay. Suppose the read must run before the update. How many of the two stay?"
                        .to_owned()
                })
                options=Signal::derive(move || options.map(str::to_owned).to_vec())
                answer=Signal::derive(predicted)
                explain=Callback::new(explain)
            />
            <Figure
                wb
                title=TITLE
                caption="A program as it was before the pass, and what each phase made of it. At the right, for the chosen copy, how long the old value is wanted and where the new one would be written over it, from top to bottom; the frame is where both are. Change what is read, and when, and the pass runs again."
                reserve=[753, 865, 1270]
                table=CopyTable
            >
                <Phases />
            </Figure>
            <Puzzle
                id="pop"
                goal="open the program that takes the first of a queue, and make all its copies go by changing one thing: every value is still read, and region analysis stays off."
                check=Signal::derive(check)
                hint="Two instructions read the old queue. The update needs what one of them gives, so that one is early anyway. Which is the other?"
            />
            <p>
                "What users of JAX meet most often is in the list. A value is read and then updated: the read seems to come "
                "first, but the compiler is free to run it last, and a barrier in the source is gone by then. A branch that "
                "does nothing is not free: its result has to get to where the other branch writes, and which of two branches "
                "is tried first decides who pays. A swap in a loop needs at least one place more than there are arrays, "
                "because something has to be held in the hand. And donation helps only if nobody reads the argument late. "
                <Rule section="11.3" />
            </p>
            <p>
                <dfn>"Region analysis"</dfn>
                " is a second and closer look that XLA takes where the plain proof fails, if it is asked to. It looks at the "
                "regions of the program between two writes, and may settle the matter itself by making one instruction wait "
                "for another. On CPU and GPU it is off by default; "
                <span class="code">"--xla_cpu_copy_insertion_use_region_analysis=true"</span>
                " turns it on. It removes the copies of the first program, but not all those of the swap. "
                <Rule section="11.4" />
            </p>
        }
        .into_any()
    }

    fn selected(wb: Workbench, a: &Answer) -> Option<usize> {
        match wb.state.with(|s| s.selection) {
            Selection::Suggested => a.suggested(),
            Selection::Nothing => None,
            Selection::Value(v) => Some(v as usize).filter(|n| *n < a.copies.len()),
        }
    }

    #[component]
    fn Phases() -> impl IntoView {
        let wb = use_workbench();
        let Copying { setting, answer } = expect_context();
        let stage = Memo::new(move |_| stage_of(wb));
        let sentence =
            move || answer.with(|a| a.as_ref().map(|a| a.sentence(stage.get()))).unwrap_or_default();
        let case = Memo::new(move |_| setting.with(|s| s.case));
        let choose = move |id: String| {
            if let Some(case) = CASES.iter().position(|c| c.id == id) {
                set(wb, &Setting { case, ..Setting::default() });
            }
        };
        let picked = Memo::new(move |_| answer.with(|a| a.as_ref().and_then(|a| selected(wb, a))));
        let copies = Memo::new(move |_| {
            answer.with(|a| {
                let all = a.as_ref().map(|a| {
                    a.copies.iter().map(|c| (c.name.clone(), fate_words(c.fate))).collect::<Vec<_>>()
                });
                all.unwrap_or_default()
            })
        });
        let pick = move |e: Event| wb.select(event_target_value(&e).parse().ok());
        let chosen = Memo::new(move |_| {
            let n = picked.get()?;
            answer.with(|a| a.as_ref()?.copies.get(n).cloned())
        });
        let number = move |f: fn(&Answer) -> u64| answer.with(|a| a.as_ref().map(|a| f(a).to_string()));
        view! {
            <div
                class="phases"
                data-stage=move || STAGES[stage.get()]
                data-stayed=move || number(|a| a.stayed().count() as u64)
                data-bytes=move || number(Answer::written)
                data-memory=move || answer.with(|a| a.as_ref().and_then(|a| a.memory).map(|m| m.to_string()))
            >
                <div class="touch-controls">
                    <OneOf
                        label="Program"
                        options=CASES.iter().map(|o| (o.id, o.title.to_owned())).collect()
                        now=Signal::derive(move || CASES[case.get()].id)
                        choose=Callback::new(choose)
                    />
                    <label class="check">
                        <input
                            type="checkbox"
                            prop:checked=move || setting.with(|s| s.regions)
                            on:change=move |_| {
                                let s = setting.get_untracked();
                                set(wb, &Setting { regions: !s.regions, ..s });
                            }
                        />
                        <span>"Region analysis"</span>
                    </label>
                </div>
                <p class="quiet">{move || CASES[case.get()].about}</p>
                <ul class="sites" aria-label="What the program does">
                    <For
                        each=move || {
                            let c = case.get();
                            (0..copying::switches(c).len()).map(move |n| (c, n))
                        }
                        key=|k| *k
                        let((c, n))
                    >
                        <li>
                            <SwitchBox c n />
                        </li>
                    </For>
                </ul>
                <Scrubber
                    label="Phase"
                    value=Signal::derive(move || stage.get() as u32)
                    last=Signal::derive(|| STAGES.len() as u32 - 1)
                    said=Signal::derive(move || STAGE_WORDS[stage.get()].to_owned())
                    step=Callback::new(move |(from, forward): (u32, bool)| {
                        if forward { (from + 1).min(STAGES.len() as u32 - 1) } else { from.saturating_sub(1) }
                    })
                    set=Callback::new(move |to| go(wb, to))
                />
                <p class="answer" data-said="stage">{sentence}</p>
                <div class="touch-both">
                    <Drawn
                        wb
                        title=TITLE
                        class="copying"
                        said=Signal::derive(sentence)
                        scene=Callback::new(move |width: f64| {
                            answer
                                .with(|a| {
                                    a.as_ref().map(|a| scene::copying(a, stage.get(), picked.get(), width))
                                })
                        })
                    />
                    <div>
                        <label class="field">
                            "Copy"
                            <select on:change=pick>
                                <option value="" selected=move || picked.get().is_none()>
                                    "none"
                                </option>
                                <For
                                    each=move || copies.get().into_iter().enumerate()
                                    key=Clone::clone
                                    let((n, (name, fate)))
                                >
                                    <option value=n.to_string() selected=move || picked.get() == Some(n)>
                                        {format!("{name}, {fate}")}
                                    </option>
                                </For>
                            </select>
                        </label>
                        {move || chosen.get().map(|copy| view! { <Story copy /> })}
                    </div>
                </div>
            </div>
        }
    }

    /// One thing that can be changed.
    #[component]
    fn SwitchBox(c: usize, n: usize) -> impl IntoView {
        let wb = use_workbench();
        let Copying { setting, .. } = expect_context();
        let switch = &copying::switches(c)[n];
        let made = move || setting.with(|s| s.case == c && s.on.contains(&n));
        // A read is there until it is taken away; all else is not until it is made.
        let is_read = switch.is_read;
        view! {
            <label class="check">
                <input
                    type="checkbox"
                    prop:checked=move || made() != is_read
                    on:change=move |_| set(wb, &setting.get_untracked().with(n, !made()))
                />
                <span>{switch.words.clone()}</span>
            </label>
        }
    }

    /// All about one copy.
    #[component]
    fn Story(copy: Copy) -> impl IntoView {
        let tried = match copy.attempts {
            0 => "never tried".to_owned(),
            1 => "tried once".to_owned(),
            n => format!("tried {n} times"),
        };
        let stays = !copy.refusal.is_empty();
        let pair = copy.pair.clone();
        let advice = copy.advice.clone();
        let nothing = stays && advice.is_empty();
        view! {
            <div class="story" data-said="story">
                <p>
                    <b class="code">{copy.name.clone()}</b>
                    {format!(" of {}: {}, {}, in {}.", copy.of, copy.shape, bytes(copy.bytes), copy.computation)}
                </p>
                <dl>
                    <dt>"Protects"</dt>
                    <dd>{copy.saves.clone()}</dd>
                    <dt>"Added"</dt>
                    <dd>{format!("{}: {}.", rule_title(copy.rule_name), copy.rule)}</dd>
                    <dt>"Removal"</dt>
                    <dd>
                        {format!("{tried}: {}", fate_words(copy.fate))}
                        {stays.then(|| format!(", because {}", copy.refusal))}
                        "."
                    </dd>
                    {pair
                        .map(|p| {
                            let last = p.readers.last().cloned();
                            view! {
                                <dt>"In each other's way"</dt>
                                <dd>{format!("{}, which is wanted, and {}, which would be written.", p.wanted, p.written)}</dd>
                                {last
                                    .map(|reader| {
                                        let others = p.readers.len() - 1;
                                        let also = if others == 0 {
                                            String::new()
                                        } else {
                                            format!(", after {}", names(&p.readers[..others]))
                                        };
                                        view! {
                                            <dt>"Last reader"</dt>
                                            <dd>{format!("{reader}{also}.")}</dd>
                                        }
                                    })}
                            }
                        })}
                </dl>
                {(!advice.is_empty())
                    .then(|| {
                        view! {
                            <p>"It would go if you"</p>
                            <ul class="advice">
                                {advice
                                    .into_iter()
                                    .map(|a| view! { <AdviceLine advice=a /> })
                                    .collect_view()}
                            </ul>
                        }
                    })}
                {nothing.then(|| view! { <p>"No change that the engine tried lets it go by itself."</p> })}
            </div>
        }
    }

    #[component]
    fn AdviceLine(advice: Advice) -> impl IntoView {
        let wb = use_workbench();
        let Copying { setting, .. } = expect_context();
        let changes = StoredValue::new(advice.changes);
        let label = format!("Try it: {}", advice.words);
        view! {
            <li>
                <span>{format!("{}.", advice.words)}</span>
                " "
                {advice
                    .is_here
                    .then(|| {
                        view! {
                            <button
                                type="button"
                                aria-label=label
                                on:click=move |_| {
                                    let next = changes.with_value(|c| setting.get_untracked().with_all(c));
                                    set(wb, &next);
                                }
                            >
                                "Try it"
                            </button>
                        }
                    })}
            </li>
        }
    }

    /// The figure as a table: each copy, where it stands in each phase, and why.
    #[component]
    fn CopyTable() -> impl IntoView {
        let Copying { answer, .. } = expect_context();
        let rows = move || {
            let a = answer.get()?;
            let lines = a.copies.iter().enumerate().map(|(n, c)| {
                let row = a.rows.iter().find(|r| r.copy == Some(n));
                let phases = (0..STAGES.len())
                    .map(|stage| {
                        let sign = match row.map(|r| r.presence[stage]) {
                            Some(Presence::Stands) => "stands",
                            Some(Presence::Idle) => "not read",
                            _ => "no",
                        };
                        view! { <td>{sign}</td> }
                    })
                    .collect_view();
                view! {
                    <tr>
                        <th scope="row" class="code">{c.name.clone()}</th>
                        <td class="code">{c.of.clone()}</td>
                        <td class="code">{c.saves.clone()}</td>
                        <td class="n">{grouped(c.bytes)}</td>
                        {phases}
                        <td>{rule_title(c.rule_name)}</td>
                        <td>{if c.refusal.is_empty() { fate_words(c.fate).to_owned() } else { c.refusal.clone() }}</td>
                    </tr>
                }
            });
            Some(lines.collect_view())
        };
        view! {
            <table>
                <caption>"Every copy that the pass had, and where it stood"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Copy"</th>
                        <th scope="col">"Of"</th>
                        <th scope="col">"Protects"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        {STAGES.map(|s| view! { <th scope="col">{s}</th> }).collect_view()}
                        <th scope="col">"Added for"</th>
                        <th scope="col">"Stays because"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
