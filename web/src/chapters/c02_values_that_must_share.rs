//! Chapter 2: buffers, and what holds them together.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 2,
    slug: "values-that-must-share",
    title: "Values that must share",
    question: "A loop's state has five names. Why is it one piece of memory, and what can change that?",
    figures: &["share"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(ranges, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const TITLE: &str = "What binds values into one buffer";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let Some(a) = crate::binding::answer(&crate::binding::Setting::default()) else { return Vec::new() };
    vec![super::Poster {
        figure: "share",
        title: TITLE,
        scene: crate::scene::binding(&a, a.links.len(), None, 900.0),
        caption: a.sentence(),
        class: "binding",
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::TITLE;
    use crate::binding::{self, Answer, PROGRAMS, Setting, UPDATE};
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
    use leptos::prelude::*;

    /// What the engine says of the present setting, for the figure and the prose around it.
    #[derive(Clone, Copy)]
    struct Share {
        setting: Memo<Setting>,
        answer: Memo<Option<Shared<Answer>>>,
    }

    /// How many rules have been asked: all of them, unless the reader went back.
    fn step_of(wb: Workbench, a: &Answer) -> usize {
        let asked = wb.state.with(|s| s.number("rule")).and_then(|n| usize::try_from(n).ok());
        asked.unwrap_or(usize::MAX).min(a.links.len())
    }

    fn go(wb: Workbench, step: u32, last: u32) {
        if step >= last {
            wb.clear_view("rule");
        } else {
            wb.set_view("rule", i64::from(step));
        }
    }

    fn set(wb: Workbench, setting: &Setting) {
        let mut next = setting.put(&wb.state.get_untracked());
        next.view.remove("rule");
        wb.set(next);
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("share", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        let answer = Memo::new(move |_| {
            let s = setting.get();
            wb.awake.get().then(|| binding::answer(&s)).flatten().map(Shared::new)
        });
        provide_context(Share { setting, answer });
        wb.say_with(move || answer.with_untracked(|a| a.as_ref().map(|a| a.sentence())).unwrap_or_default());
        let options = [
            "It leaves: the loop gets the copy instead",
            "It stays, and the copy comes in as well",
            "The buffer falls into two halves",
        ];
        let predicted = move || {
            let a = binding::predicted()?;
            let of = |name: &str| a.nodes.iter().find(|n| n.name == name).map(|n| n.buffer);
            let copy = a.nodes.iter().find(|n| n.is_new)?.buffer;
            Some(match (of(UPDATE)? == a.buffer, copy == a.buffer) {
                (true, true) => 1,
                (false, _) => 0,
                (true, false) => 2,
            })
        };
        let explain = move |_: usize| {
            let Some(a) = binding::predicted() else { return String::new() };
            let other = a.links.iter().find(|l| l.rule == "in place").map(|l| l.words.clone());
            format!("{}, whatever goes round the loop. {}", other.unwrap_or_default(), a.sentence())
        };
        let check = move || {
            let (solved, progress) = answer.with(|a| a.as_ref().map(|a| a.puzzle()))?;
            Some(PuzzleResult { solved, progress })
        };
        view! {
            <p>
                "Most values are free: any address will do. Some are not. A loop's code is compiled once, and each turn reads "
                "and writes at the same addresses; so what goes into the loop, what a turn finds, what it leaves, what the "
                "condition looks at and what comes out at the end must all be one place in memory. They are five values with "
                "five names, and XLA calls the set of them a " <dfn>"buffer"</dfn>
                ". In its source the step that finds them is the "
                <dfn>"alias analysis"</dfn> ", and the set is an " <span class="code">"HloBuffer"</span> ". " <Rule section="3" />
            </p>
            <p>
                "A few rules make all buffers. A loop binds its state, and the table that holds the state, too. A conditional "
                "binds the results of its branches; what goes into a branch is simply the same value under another name. An "
                "operation that writes " <i>"in place"</i> ", such as " <span class="code">"dynamic-update-slice"</span> ", "
                <span class="code">"scatter"</span> " or " <span class="code">"all-reduce-start"</span>
                ", binds its result to its operand. And a "
                <dfn>"donated"</dfn> " argument, one that the caller has given away, binds an output, by " <span class="code">"input_output_alias"</span>
                " in the first line of the program. Nothing else does. All other values only " <i>"may"</i>
                " share, and whether they do is decided later. "
                <Rule section="3.1" />
            </p>
            <Predict
                wb
                id="leaves"
                question=Signal::derive(|| {
                    format!(
                        "In the loop below, {UPDATE} writes the new cache, and the turn leaves it as its state. A copy of it is put in between, so that the turn leaves the copy. What happens to {UPDATE}?"
                    )
                })
                options=Signal::derive(move || options.map(str::to_owned).to_vec())
                answer=Signal::derive(predicted)
                explain=Callback::new(explain)
            />
            <Figure
                wb
                title=TITLE
                caption="The values one under the other, and at their right what binds them: one line a rule that applies, numbered as below. One colour is one group. Go back and forward through the rules; put a copy in, or take one out, and the rules are asked again."
                reserve=[636, 893, 1142]
                table=ShareTable
            >
                <Sharing />
            </Figure>
            <Puzzle
                id="leave"
                goal=Signal::derive(|| {
                    format!("in the loop, get {UPDATE} out of the loop's buffer, so that it has memory of its own.")
                })
                check=Signal::derive(check)
                hint="Two rules hold it: one by what it writes into, one by where its result goes. A copy cuts one of them."
            />
            <p>
                "So a copy is a cut: it reads one value and writes another, and no rule binds the two. That is the only tool "
                "there is where values that must share are wanted at one time, and it is not cheap: it moves all bytes, and "
                "both ends need memory. Who puts copies in, and who takes most of them out again, is the story of "
                <a href="#the-copy-you-never-see">"chapter 11"</a> ". " <Rule section="11" />
            </p>
        }
        .into_any()
    }

    #[component]
    fn Sharing() -> impl IntoView {
        let wb = use_workbench();
        let Share { setting, answer } = expect_context();
        let sentence = move || answer.with(|a| a.as_ref().map(|a| a.sentence())).unwrap_or_default();
        let step = move || answer.with(|a| a.as_ref().map_or(0, |a| step_of(wb, a)));
        let is_ahead = move |n: usize| n >= step();
        let last = move || answer.with(|a| a.as_ref().map_or(0, |a| a.links.len())) as u32;
        let said = move || answer.with(|a| a.as_ref().map(|a| a.said(step_of(wb, a)))).unwrap_or_default();
        let pass = move || answer.with(|a| a.as_ref().map(|a| a.pass.clone())).unwrap_or_default();
        let choose = move |id: String| {
            if let Some(program) = PROGRAMS.iter().position(|p| p.id == id) {
                set(wb, &Setting { program, turned: Vec::new() });
            }
        };
        let program = Memo::new(move |_| setting.with(|s| s.program));
        let selected = move || match wb.state.with(|s| s.selection) {
            Selection::Value(v) => Some(v),
            _ => None,
        };
        let links =
            Memo::new(move |_| answer.with(|a| a.as_ref().map(|a| a.links.clone())).unwrap_or_default());
        view! {
            <div
                class="sharing"
                data-values=move || {
                    answer.with(|a| a.as_ref().map(|a| a.group().count().to_string()))
                }
                data-memory=move || answer.with(|a| a.as_ref().map(|a| a.memory.to_string()))
            >
                <div class="touch-controls">
                    <OneOf
                        label="Program"
                        options=PROGRAMS.iter().map(|o| (o.id, o.title.to_owned())).collect()
                        now=Signal::derive(move || PROGRAMS[program.get()].id)
                        choose=Callback::new(choose)
                    />
                </div>
                <p class="quiet">{move || PROGRAMS[program.get()].about}</p>
                <p class="answer" data-said="sentence">{sentence}</p>
                <Scrubber
                    label="Rule"
                    value=Signal::derive(move || step() as u32)
                    last=Signal::derive(last)
                    said=Signal::derive(said)
                    step=Callback::new(move |(from, forward): (u32, bool)| {
                        if forward { (from + 1).min(last()) } else { from.saturating_sub(1) }
                    })
                    set=Callback::new(move |to| go(wb, to, last()))
                />
                <div class="touch-both">
                    <Drawn
                        wb
                        title=TITLE
                        class="binding"
                        said=Signal::derive(sentence)
                        scene=Callback::new(move |width: f64| {
                            let picked = selected();
                            answer
                                .with(|a| {
                                    a.as_ref().map(|a| scene::binding(a, step_of(wb, a), picked, width))
                                })
                        })
                    />
                    <div>
                        <h4>"The rules that apply"</h4>
                        <ol class="links">
                            <For each=move || links.get().into_iter().enumerate() key=Clone::clone let((n, link))>
                                <li>
                                    <button
                                        type="button"
                                        class:still=move || is_ahead(n)
                                        aria-current=move || if n + 1 == step() { "step" } else { "false" }
                                        on:click=move |_| go(wb, n as u32 + 1, last())
                                    >
                                        <b>{link.rule}</b>
                                        ": "
                                        {link.words}
                                    </button>
                                </li>
                            </For>
                        </ol>
                        <h4 id="share-copies">"Copies"</h4>
                        <ul class="sites" aria-labelledby="share-copies">
                            <For
                                each=move || {
                                    let p = program.get();
                                    (0..binding::sites(p).len()).map(move |n| (p, n))
                                }
                                key=|k| *k
                                let((p, n))
                            >
                                <li>
                                    <label class="check">
                                        <input
                                            type="checkbox"
                                            prop:checked=move || setting.with(|s| s.program == p && s.has_copy(n))
                                            on:change=move |_| set(wb, &setting.get_untracked().turn(n))
                                        />
                                        <span>{binding::sites(p)[n].words.clone()}</span>
                                    </label>
                                </li>
                            </For>
                        </ul>
                        <p class="quiet" data-said="pass">{pass}</p>
                    </div>
                </div>
            </div>
        }
    }

    /// The figure as a table: each value, its buffer, and what binds it.
    #[component]
    fn ShareTable() -> impl IntoView {
        let Share { answer, .. } = expect_context();
        let rows = move || {
            let a = answer.get()?;
            let lines = a.nodes.iter().enumerate().map(|(n, node)| {
                let bound: Vec<String> = a
                    .links
                    .iter()
                    .enumerate()
                    .filter(|(_, l)| l.ends.0 == n || l.ends.1 == n)
                    .map(|(k, l)| format!("{} {}", k + 1, l.rule))
                    .collect();
                view! {
                    <tr>
                        <th scope="row" class="code">{node.name.clone()}</th>
                        <td>{node.role.clone()}</td>
                        <td class="code">{node.shape.clone()}</td>
                        <td class="n">{grouped(node.bytes)}</td>
                        <td class="n">{node.buffer}</td>
                        <td>{if bound.is_empty() { "nothing".to_owned() } else { bound.join(", ") }}</td>
                    </tr>
                }
            });
            Some(lines.collect_view())
        };
        let size = move || answer.with(|a| a.as_ref().map(|a| bytes(a.bytes))).unwrap_or_default();
        view! {
            <table>
                <caption>{move || format!("Values and their buffers; the one that is watched has {}", size())}</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"What it is"</th>
                        <th scope="col">"Shape"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        <th scope="col" class="n">"Buffer"</th>
                        <th scope="col">"Bound by"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
