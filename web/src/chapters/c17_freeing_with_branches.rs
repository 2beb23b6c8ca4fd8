//! Chapter 17: buffer deallocation.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 17,
    slug: "freeing-with-branches",
    title: "Freeing in a program with branches",
    question: "A buffer is made on one of two ways. Where is it freed, so that it is freed once, whichever way was taken?",
    figures: &["freeing"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(devices, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const TITLE: &str = "A program, who owns its buffers, and a run of every way";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let first = crate::freeing::EXAMPLES[0].text;
    let Ok(story) = crate::freeing::story(first, crate::freeing::Rule::Older) else { return Vec::new() };
    let done = story.steps().len();
    let moment = story.moment(done, &std::collections::BTreeSet::new(), 0);
    vec![super::Poster {
        figure: "freeing",
        title: TITLE,
        caption: format!("{} {}", story.counted(), moment.verdict().unwrap_or_default()),
        class: "graph",
        scene: crate::scene::graph(&moment, None, 900.0),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::TITLE;
    use crate::figure::Figure;
    use crate::freeing::{
        self, EXAMPLES, Moment, Part, Presence, Setting, Story, break_words, kind_words, letter_of, problem,
    };
    use crate::modules::FIRST_ID;
    use crate::scene;
    use crate::state::{Selection, Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term, coded};
    use crate::views::choose::OneOf;
    use crate::views::drawn::Drawn;
    use crate::views::plot::change;
    use crate::views::scrubber::Scrubber;
    use crate::views::text_pane::TextPane;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use deallocation::run::Kind;
    use deallocation::{Break, Refusal};
    use leptos::ev::Event;
    use leptos::prelude::*;
    use std::collections::BTreeSet;

    /// The versions that the rules were compared with.
    const CLASSIC: &str = "LLVM 16";
    const NEWER: &str = "LLVM 19";

    /// What the rule makes of the present text, for the figure and the prose around it.
    #[derive(Clone, Copy)]
    struct Freeing {
        setting: Memo<Setting>,
        told: Memo<Option<Shared<Result<Story, Refusal>>>>,
        /// How many steps are done: all, unless the reader went back.
        done: Memo<usize>,
        moment: Memo<Option<Shared<Moment>>>,
    }

    impl Freeing {
        /// Asks the story, if the text can be read.
        fn ask<T>(self, what: impl FnOnce(&Story) -> T) -> Option<T> {
            self.told.with(|t| (**t.as_ref()?).as_ref().ok().map(what))
        }
    }

    fn go(wb: Workbench, to: u32, last: u32) {
        if to >= last {
            wb.clear_view("step");
        } else {
            wb.set_view("step", i64::from(to));
        }
    }

    /// Another setting; what was looked at belonged to the last one.
    fn set(wb: Workbench, setting: &Setting) {
        let mut next = setting.put(&wb.state.get_untracked());
        next.view.remove("step");
        next.view.remove("fault");
        next.selection = Selection::Suggested;
        wb.set(next);
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("freeing", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let asked = Memo::new(move |_| setting.with(|s| (s.text().to_owned(), s.rule)));
        let told = Memo::new(move |_| {
            wb.awake.get().then(|| asked.with(|(text, rule)| Shared::new(freeing::story(text, *rule))))
        });
        let number = move |key| wb.state.with(|s| s.number(key)).and_then(|n| usize::try_from(n).ok());
        let done = Memo::new(move |_| {
            let last = told.with(|t| (**t.as_ref()?).as_ref().ok().map(|s| s.steps().len()));
            number("step").unwrap_or(usize::MAX).min(last.unwrap_or(0))
        });
        let moment = Memo::new(move |_| {
            let told = told.get()?;
            let story = (*told).as_ref().ok()?;
            let fault = number("fault").unwrap_or(0);
            Some(Shared::new(setting.with(|s| story.moment(done.get(), &s.broken, fault))))
        });
        provide_context(Freeing { setting, told, done, moment });
        wb.say_with(move || {
            let words = told.with(|t| t.as_ref().map(|t| said(t, done.get())));
            let verdict = moment.with(|m| m.as_ref().and_then(|m| m.verdict()));
            format!("{} {}", words.unwrap_or_default(), verdict.unwrap_or_default()).replace('`', "")
        });
        // The set of a name of the first program, while that is shown.
        let set_of = move |name: &'static str| {
            Signal::derive(move || {
                let is_first = setting.with(|s| s.example == 0 && s.text.is_none());
                let find =
                    |m: &Moment| m.sets.iter().find(|s| s.names.iter().any(|n| n == name)).map(|s| s.rank);
                moment.with(|m| m.as_ref().filter(|_| is_first).and_then(|m| find(m)))
            })
        };
        let predicted = move || {
            let moment = freeing::without_the_clone()?;
            let has = |kind| moment.faults.iter().any(|(k, _)| *k == kind);
            Some(match (has(Kind::Leak), has(Kind::FreedTwice)) {
                (_, true) => 1,
                (true, false) => 0,
                (false, false) => 2,
            })
        };
        let explain = move |_: usize| {
            freeing::without_the_clone().and_then(|m| m.verdict()).unwrap_or_default().replace('`', "")
        };
        let check = move || {
            let told = told.get()?;
            let (solved, progress) = setting.with(|s| freeing::without_clones(s, &told));
            Some(PuzzleResult { solved, progress: progress.replace('`', "") })
        };
        view! {
            <p>
                "In all the chapters before, nothing was ever freed. A place was used again when its value was over, and where "
                "that is was known before the program ran. A program that asks for memory " <i>"as it runs"</i>
                ", with branches and loops in between, has to give it back itself. In MLIR, the toolkit that many compilers are "
                "built from, the pass that puts the releases in is called " <dfn>"buffer deallocation"</dfn>
                "; XLA has a copy of it. It has to be right on every way through the program. On a way without a release memory "
                "is lost; that is a " <dfn>"leak"</dfn>
                ". A buffer that is freed twice, or read after it was freed, is worse: by then the memory may be somebody else's."
            </p>
            <p>
                "Such a program is a graph. A " <dfn>"block"</dfn>
                " is a list of operations that run one after the other. Its last one is a branch to another block, and may pass "
                "values along; the other block gets them under names of its own. The pass works in three steps. "
            </p>
            <ol class="three">
                <li>
                    <b>"Collect. "</b>
                    "For each allocation, find all values that may be the same buffer: a view of it, or what a branch passes on. "
                    "They are its " <dfn>"alias set"</dfn> ", here one colour and one letter. "
                    <Rule section="15.1" verified=CLASSIC />
                </li>
                <li>
                    <b>"Clone. "</b>
                    "Some values are one buffer or another, as the way was taken. Below, "
                    <Term wb value="%r" number=set_of("%r") /> " is the new buffer " <Term wb value="%a" number=set_of("%a") />
                    " or the caller's " <Term wb value="%x" number=set_of("%x") />
                    ". Whoever frees it cannot know which. So it is made to own what it gets: on every way what is passed to it "
                    "is copied first, and the copy is passed. Such a copy is a " <dfn>"clone"</dfn> ". "
                    <Rule section="15.2" verified=CLASSIC />
                </li>
                <li>
                    <b>"Place. "</b>
                    "Now each owner is freed once, behind its last use. If that use depends on the way, the release has to wait "
                    "for a block that all these ways go through. A block that every way from here to the end goes through is a "
                    <dfn>"post-dominator"</dfn> "; the first one that all uses have in common is the place. "
                    <Rule section="15.3" verified=CLASSIC />
                </li>
            </ol>
            <Predict
                wb
                id="clone"
                question="In the program below, %a is cloned, the clone is passed to ^bb2, and %a is freed. Suppose the clone is left out, and %a itself is passed. What happens on that way?"
                options=Signal::derive(|| {
                    [
                        "A leak: nobody frees %a",
                        "It is used when it is gone, and then freed again",
                        "Nothing bad: one copy is saved",
                    ]
                        .map(str::to_owned)
                        .to_vec()
                })
                answer=Signal::derive(predicted)
                explain=Callback::new(explain)
            />
            <Figure
                wb
                title=TITLE
                caption="Blocks, and the branches between them. A letter is an alias set; coloured lines are what the pass put in. Step through it; spoil a part of the result, or change the text. After each change the program is run on every way, and the way to the fault is drawn."
                reserve=[688, 1080, 1310]
                table=FreeingTable
            >
                <Freed />
            </Figure>
            <Puzzle
                id="clones"
                goal="change the text of the first program so that no clone is needed: a block still gets a new buffer from one side and comes from two, and nothing goes wrong."
                check=Signal::derive(check)
                hint="A clone is needed because one way to ^bb2 does not come by the allocation. Which block do both ways come by?"
            />
            <p>
                "What checks the result shares no rule with the pass. It only knows what operations do, and runs them on every way: "
                "each condition both true and false, each loop not at all, once and twice. That is how gaps were found in LLVM 16's own "
                "pass. Choose it above, with the first program: the clone of the caller's buffer is made in front of the branch, and so on "
                "both sides of it; the side that does not pass it on never frees it. With the gaps closed it gets a block "
                "of its own on its side. "
                <Rule section="15.4" verified=CLASSIC />
            </p>
            <p>
                "A loop made of branches is refused. In it a block comes before itself, so that no place is behind the last use: the "
                "next time round may use the buffer again. "
                <span class="code">"scf.for"</span> " and " <span class="code">"scf.while"</span>
                " are loops as well, but they say what goes round; that works like any other passing on. "
                <Rule section="15.1" verified=CLASSIC />
            </p>
            <h3>"The newer rule"</h3>
            <p>
                "LLVM has replaced this pass. The newer one decides less beforehand. Beside each buffer it carries a truth value, "
                <i>"is it owned here?"</i>
                ", through branches, loops and regions. At the end of each block it frees what is owned and not passed on, and "
                "asks as the program runs whether two of them are the same buffer. So it needs hardly any clones: only for what is "
                "returned and not owned. Loops of blocks it refuses too, but it takes programs that the older one cannot do, "
                "such as a diamond inside one side of another. The price is paid as the program runs, in truth values, comparisons "
                "and more releases. Choose it above to see that, and the run of every way beside it. It is our own version; LLVM 19's, "
                "of 51 programs, we ran as well, and found no fault in either. "
                <Rule section="15.5" verified=NEWER />
            </p>
        }
        .into_any()
    }

    /// The step, or why there is none, with code between backticks.
    fn said(told: &Result<Story, Refusal>, done: usize) -> String {
        match told {
            Ok(story) => match &story.refusal {
                Some(refusal) => format!("Refused: {}.", refusal.message),
                None => story.words(done),
            },
            Err(refusal) => {
                format!("Line {}, column {}: {}.", refusal.at.line, refusal.at.column, refusal.message)
            }
        }
    }

    #[component]
    fn Freed() -> impl IntoView {
        let wb = use_workbench();
        let freeing: Freeing = expect_context();
        let Freeing { setting, told, done, moment } = freeing;
        let example = Memo::new(move |_| setting.with(|s| s.example));
        let is_own = move || setting.with(|s| s.text.is_some());
        let choose = move |id: String| {
            if let Some(example) = EXAMPLES.iter().position(|e| e.id == id) {
                set(wb, &Setting { example, rule: setting.with_untracked(|s| s.rule), ..Setting::default() });
            }
        };
        let choose_rule = move |id: String| {
            let s = setting.get_untracked();
            if let Some(rule) = freeing::Rule::ALL.into_iter().find(|r| r.id() == id) {
                set(wb, &Setting { rule, broken: BTreeSet::new(), ..s });
            }
        };
        let rule = Memo::new(move |_| setting.with(|s| s.rule));
        let last = move || freeing.ask(|s| s.steps().len()).unwrap_or(0) as u32;
        let phase = move || freeing.ask(|s| s.phase(done.get())).unwrap_or_default();
        let where_it_is = move || match last() {
            0 => "no steps to show".to_owned(),
            last => format!("{} of {last}: {}", done.get(), phase()),
        };
        let words =
            Memo::new(move |_| told.with(|t| t.as_ref().map(|t| said(t, done.get()))).unwrap_or_default());
        let verdict = Memo::new(move |_| moment.with(|m| m.as_ref().and_then(|m| m.verdict())));
        let faults =
            Memo::new(move |_| moment.with(|m| m.as_ref().map(|m| m.faults.clone())).unwrap_or_default());
        let is_wrong = move || faults.with(|f| !f.is_empty());
        let fault = move || {
            let asked = wb.state.with(|s| s.number("fault")).and_then(|n| usize::try_from(n).ok());
            asked.unwrap_or(0).min(faults.with(Vec::len).saturating_sub(1))
        };
        let shown = Memo::new(move |_| {
            let fault = fault();
            faults.with(|f| match f.get(fault) {
                Some((_, words)) => words.clone(),
                None => verdict.get().unwrap_or_default(),
            })
        });
        let selected = move || match wb.state.with(|s| s.selection) {
            Selection::Value(rank) => Some(rank),
            _ => None,
        };
        let counted =
            move || freeing.ask(|s| s.refusal.is_none().then(|| s.counted())).flatten().unwrap_or_default();
        let problems = Memo::new(move |_| {
            told.with(|t| match t.as_ref().map(|t| &**t) {
                Some(Err(refusal)) => vec![problem(refusal)],
                Some(Ok(story)) => story.refusal.iter().map(problem).collect(),
                None => Vec::new(),
            })
        });
        let text = Signal::derive(move || setting.with(|s| s.text().to_owned()));
        let typed = move |typed: String| {
            let s = setting.get_untracked();
            let text = (typed != EXAMPLES[s.example].text).then_some(typed);
            set(wb, &Setting { text, broken: BTreeSet::new(), ..s });
        };
        view! {
            <div
                class="freeing"
                data-done=move || done.get().to_string()
                data-faults=move || faults.with(Vec::len).to_string()
            >
                <div class="touch-controls">
                    <OneOf
                        label="Program"
                        options=EXAMPLES.iter().map(|o| (o.id, o.title.to_owned())).collect()
                        now=Signal::derive(move || EXAMPLES[example.get()].id)
                        choose=Callback::new(choose)
                    />
                    <OneOf
                        label="Rule"
                        options=freeing::Rule::ALL.into_iter().map(|r| (r.id(), r.title().to_owned())).collect()
                        now=Signal::derive(move || rule.get().id())
                        choose=Callback::new(choose_rule)
                    />
                </div>
                <p class="quiet">
                    {move || if is_own() { "Your own text." } else { EXAMPLES[example.get()].about }}
                </p>
                <Scrubber
                    label="Step"
                    value=Signal::derive(move || done.get() as u32)
                    last=Signal::derive(last)
                    said=Signal::derive(where_it_is)
                    step=Callback::new(move |(from, forward): (u32, bool)| {
                        if forward { (from + 1).min(last()) } else { from.saturating_sub(1) }
                    })
                    set=Callback::new(move |to| go(wb, to, last()))
                />
                <p class="answer" role="status" data-said="step">{move || coded(&words.get())}</p>
                <div class="touch-both">
                    <Drawn
                        wb
                        title=TITLE
                        class="graph"
                        said=Signal::derive(move || words.get().replace('`', ""))
                        scene=Callback::new(move |width: f64| {
                            moment.with(|m| m.as_ref().map(|m| scene::graph(m, selected(), width)))
                        })
                    />
                    <div class="beside">
                        <div
                            class="judgement"
                            class:stopped=is_wrong
                            class:passed=move || verdict.with(Option::is_some) && !is_wrong()
                            role="status"
                        >
                            <b>
                                <span class="sign" aria-hidden="true">
                                    {move || match (verdict.with(Option::is_some), is_wrong()) {
                                        (false, _) => "",
                                        (true, false) => "✓ ",
                                        (true, true) => "✗ ",
                                    }}
                                </span>
                                {move || {
                                    let is_run = verdict.with(Option::is_some);
                                    if is_run { "Run on every way, as it stands now" } else { "Not run" }
                                }}
                            </b>
                            <p data-said="verdict">{move || coded(&shown.get())}</p>
                            <Show when=move || faults.with(|f| f.len() > 1)>
                                <div class="faults" role="group" aria-label="Faults">
                                    {move || {
                                        faults
                                            .get()
                                            .into_iter()
                                            .enumerate()
                                            .map(|(n, (kind, _))| {
                                                view! {
                                                    <button
                                                        type="button"
                                                        aria-pressed=move || (fault() == n).to_string()
                                                        on:click=move |_| wb.set_view("fault", n as i64)
                                                    >
                                                        {format!("{}. {}", n + 1, kind_words(kind))}
                                                    </button>
                                                }
                                            })
                                            .collect_view()
                                    }}
                                </div>
                            </Show>
                        </div>
                        <Sets />
                        <Spoil />
                        <p class="quiet" data-said="counted">{counted}</p>
                    </div>
                </div>
                <details class="text" prop:open=move || wb.state.with(|s| s.text) on:toggle=move |e: Event| {
                    let is_open = event_target::<web_sys::Element>(&e).has_attribute("open");
                    if is_open != wb.state.with_untracked(|s| s.text) {
                        wb.update(|s| s.text = is_open);
                    }
                }>
                    <summary>
                        "MLIR text "
                        <span class="quiet">"change it, and everything above follows"</span>
                        <Show when=move || problems.with(|p| !p.is_empty())>
                            <span class="count-errors">"1 to fix"</span>
                        </Show>
                    </summary>
                    <Show when=move || wb.state.with(|s| s.text)>
                        <TextPane
                            label="MLIR text of the program".to_owned()
                            text
                            problems
                            set=Callback::new(typed)
                        />
                        <button type="button" disabled=move || !is_own() on:click=move |_| {
                            let s = setting.get_untracked();
                            set(wb, &Setting { text: None, broken: BTreeSet::new(), ..s });
                        }>
                            "The first text again"
                        </button>
                    </Show>
                </details>
            </div>
        }
    }

    /// The alias sets, each with its letter, its values and who frees it.
    #[component]
    fn Sets() -> impl IntoView {
        let wb = use_workbench();
        let Freeing { moment, .. } = expect_context();
        let sets =
            Memo::new(move |_| moment.with(|m| m.as_ref().map(|m| m.sets.clone())).unwrap_or_default());
        let is_selected = move |rank: u32| wb.state.with(|s| s.selection == Selection::Value(rank));
        view! {
            <h4 id="freeing-sets">"Alias sets now"</h4>
            <ul class="alias-sets" aria-labelledby="freeing-sets">
                <For each=move || sets.get() key=Clone::clone let(set)>
                    <li>
                        <button
                            type="button"
                            class:lit=move || wb.hover.get() == Some(set.rank)
                            aria-pressed=move || is_selected(set.rank).to_string()
                            on:click=move |_| {
                                wb.select((!is_selected(set.rank)).then_some(set.rank));
                            }
                            on:pointerenter=move |_| change(wb.hover, Some(set.rank))
                            on:pointerleave=move |_| change(wb.hover, None)
                            on:focus=move |_| change(wb.hover, Some(set.rank))
                            on:blur=move |_| change(wb.hover, None)
                        >
                            <span class=format!("chip chip-{}", set.rank % 10)>{set.letter.clone()}</span>
                            <span class="code">{set.names.join(" ")}</span>
                            <span class="quiet">{set.status.clone()}</span>
                        </button>
                    </li>
                </For>
            </ul>
        }
    }

    /// What was put in, and how each of it can be spoilt.
    #[component]
    fn Spoil() -> impl IntoView {
        let wb = use_workbench();
        let freeing: Freeing = expect_context();
        let setting = freeing.setting;
        let parts = Memo::new(move |_| freeing.ask(Story::parts).unwrap_or_default());
        let is_on = move |n: usize, how: Break| setting.with(|s| s.broken.contains(&(n, how)));
        view! {
            <Show when=move || parts.with(|p| !p.is_empty())>
                <h4 id="freeing-spoil">"Break it"</h4>
                <div class="spoil" role="group" aria-labelledby="freeing-spoil">
                    <For each=move || parts.get() key=|p| (p.number, p.text.clone(), p.place.clone()) let(part)>
                        {
                            let Part { number, text, place, ways, .. } = part;
                            let about = format!("{text}, in {place}");
                            view! {
                                <div class="part" role="group" aria-label=about>
                                    <span>
                                        <span class="code">{text}</span>
                                        " "
                                        <span class="quiet">{place}</span>
                                    </span>
                                    <span class="ways">
                                        {ways
                                            .into_iter()
                                            .map(|how| {
                                                view! {
                                                    <button
                                                        type="button"
                                                        aria-pressed=move || is_on(number, how).to_string()
                                                        on:click=move |_| {
                                                            set(wb, &setting.get_untracked().turn(number, how));
                                                        }
                                                    >
                                                        {break_words(how)}
                                                    </button>
                                                }
                                            })
                                            .collect_view()}
                                    </span>
                                </div>
                            }
                        }
                    </For>
                </div>
            </Show>
        }
    }

    /// The figure as a table: every line, its block, its sets, and whether it is there.
    #[component]
    fn FreeingTable() -> impl IntoView {
        let Freeing { moment, .. } = expect_context();
        let rows = move || {
            let lines = moment.with(|m| m.as_ref().map(|m| m.lines()))?;
            let row = |(block, row): (String, freeing::Row)| {
                let letters: Vec<String> = row.sets.iter().map(|s| letter_of(*s)).collect();
                let presence = match row.presence {
                    Presence::Given => "in the text",
                    Presence::PutIn => "put in",
                    Presence::ToCome => "to come",
                    Presence::LeftOut => "left out",
                    Presence::Spoilt => "put where it should not be",
                };
                view! {
                    <tr>
                        <th scope="row" class="code">{block}</th>
                        <td class="code">{row.line}</td>
                        <td>{letters.join(", ")}</td>
                        <td>{presence}</td>
                        <td>{row.sign.map(freeing::Sign::words)}</td>
                    </tr>
                }
            };
            Some(lines.into_iter().map(row).collect_view())
        };
        view! {
            <table>
                <caption>"Every operation, the alias sets of its buffers, and what the pass did"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Block"</th>
                        <th scope="col">"Operation"</th>
                        <th scope="col">"Alias sets"</th>
                        <th scope="col">"Is it there?"</th>
                        <th scope="col">"In the fault"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
