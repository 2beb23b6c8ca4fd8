//! Chapter 4: from when to when a value is wanted.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 4,
    slug: "live-ranges",
    title: "Live ranges",
    question: "A value is read for the last time at the step that writes another. Do they overlap?",
    figures: &["pair", "chain"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(ranges, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module of the first figure, and the two values it begins with.
const MODULE: &str = "attention_grad";
const PAIR: [&str; 2] = ["wrapped_broadcast", "ynn_fusion.5"];

/// The module of the second one, and a value of the buffer it begins with.
const LOOP: &str = "kv_cache_loop";
const LINK: &str = "copy.13";

const PAIR_TITLE: &str = "Two ranges, step by step";
const CHAIN_TITLE: &str = "Values of one buffer take turns";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::scene::{overlap, ranges};
    use crate::{engine, lessons};
    let (Ok(opened), Ok(looped)) =
        (engine::open(&super::text_of(MODULE)), engine::open(&super::text_of(LOOP)))
    else {
        return Vec::new();
    };
    let picture = &opened.original.picture;
    let pair: Vec<u32> = PAIR.iter().filter_map(|n| opened.find(n)).collect();
    let [a, b] = pair[..] else { return Vec::new() };
    let chain = lessons::buffer_mates(&looped.original.picture, looped.find(LINK).unwrap_or_default());
    vec![
        super::Poster {
            figure: "pair",
            title: PAIR_TITLE,
            caption: lessons::pair_words(&opened, &opened.original, a, b).unwrap_or_default(),
            class: "ranges",
            scene: ranges(picture, &pair, overlap(picture, a, b), None, 900.0),
        },
        super::Poster {
            figure: "chain",
            title: CHAIN_TITLE,
            caption: lessons::chain_words(&looped.original.picture, &chain),
            class: "ranges",
            scene: ranges(&looped.original.picture, &chain, None, None, 900.0),
        },
    ]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{CHAIN_TITLE, LINK, LOOP, MODULE, PAIR, PAIR_TITLE};
    use crate::figure::Figure;
    use crate::lessons;
    use crate::scene::{self, overlap};
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::views::choose::ValueChoice;
    use crate::views::drawn::Drawn;
    use crate::workbench::{Workbench, use_workbench};
    use leptos::ev::Event;
    use leptos::prelude::*;

    /// Which other value the selected one is compared with: a name in the figure's parameters.
    const OTHER: &str = "with";

    pub fn chapter() -> AnyView {
        let all = |id: &str| State { all_rows: true, ..State::new(Source::Shipped(id.to_owned())) };
        let first = all(MODULE).with_param(OTHER, PAIR[1]);
        let wb = Workbench::for_figure("pair", first.with_param("of", PAIR[0]));
        let chain = Workbench::for_figure("chain", all(LOOP)).begin_with(LINK);
        wb.say_with(move || pair_words(wb));
        chain.say_with(move || chain_words(chain));
        let puzzle = move || {
            let run = wb.run.get()?;
            let [a, b] = pair(wb)?;
            let picture = &run.picture;
            let both_temps = [a, b].iter().all(|v| picture.item(*v).is_some_and(|i| picture.is_temp(i)));
            let (here, most) = (lessons::steps_in_common(picture, a, b), lessons::longest_together(picture));
            Some(PuzzleResult {
                solved: a != b && both_temps && here == most,
                progress: match (a == b, both_temps) {
                    (true, _) => "Both are the same value.".to_owned(),
                    (_, false) => "Not both of them are temporaries.".to_owned(),
                    _ => format!("These two are alive together at {here} of the program's steps."),
                },
            })
        };
        // The pair of the prediction: one ends where the other, which may work in place, is written.
        let touching = move || {
            let opened = wb.base.get()?;
            let (a, b) = (opened.find("ynn_fusion.5")?, opened.find("multiply_multiply_fusion")?);
            let picture = &opened.original.picture;
            let shares = picture.item(a)?.shares_address(picture.item(b)?);
            Some((shares, lessons::pair_words(&opened, &opened.original, a, b)?))
        };
        let name = |n: &'static str| Signal::derive(move || n.to_owned());
        view! {
            <p>
                "The " <dfn>"live range"</dfn>
                " of a value is the part of the clock during which its bytes must not change. It starts at the step that "
                "writes the value, and ends at the last step that reads it. Both of these steps belong to it: ranges are "
                <dfn>"closed"</dfn> " on both ends. " <Rule section="4.2" />
            </p>
            <p>
                "That answers the question. " <Term wb value=name(PAIR[0]) /> " is read for the last time at step 6, and "
                <Term wb value=name(PAIR[1]) />
                " is written at step 6, by the very instruction that reads it. While that instruction runs, one array is "
                "still being read and the other is already being written. Both need their bytes, so the two ranges "
                "overlap, by one step, and the two may not stand at the same address. (Some instructions can write over "
                "what they read; they are the one exception, and chapter 6 is about it.) An argument of the program is "
                "alive from the first step to the end, because the caller may look at it afterwards. And "
                "what a loop's condition or body, or a branch, gives back is wanted until all of it has run, which is the step "
                "after its last instruction."
            </p>
            <Figure
                wb
                title=PAIR_TITLE
                caption="Two values, one column a step. The shaded columns are the steps at which both are alive; small dark marks are reads. Choose others from the lists or by clicking in the overview."
                reserve=[680, 702, 850]
            >
                <Pair />
            </Figure>
            <Predict
                wb
                id="inplace"
                question=Signal::derive(|| {
                    "ynn_fusion.5 is read last at step 16, where multiply_multiply_fusion is written: one step in common, \
                     as above. Do these two stand at one address?"
                        .to_owned()
                })
                options=Signal::derive(|| {
                    [
                        "No: whatever overlaps must stand apart",
                        "Yes: this instruction may write over what it reads",
                    ]
                        .map(str::to_owned)
                        .to_vec()
                })
                answer=Signal::derive(move || touching().map(|(shares, _)| usize::from(shares)))
                explain=Callback::new(move |_: usize| touching().map(|t| t.1).unwrap_or_default())
            />
            <Puzzle
                id="together"
                goal=Signal::derive(|| {
                    "find the two temporaries that are alive together for the most steps.".to_owned()
                })
                check=Signal::derive(puzzle)
                hint="The value with the longest range is one of them. Large or small does not matter here."
            />
            <p>
                "There is one more rule. Some values must share their memory whatever happens. A loop's state has five names: "
                "what enters the loop, what its condition sees, what its body takes over, what the body makes of it, and what "
                "comes out at the end. The five are one buffer (chapter 2). If each kept its range to its last reader they would all "
                "overlap. So within a buffer the ranges are cut. XLA takes them in the order of their starts: where one lasts beyond "
                "the start of the next, it is cut there, and the next takes over the later end. Where one ends before the next "
                "begins there is a gap, and in it the bytes are free for others. " <Rule section="4.3" />
            </p>
            <p>
                <Term wb=chain value=name(LINK) />
                " counts the turns of a loop. The loop reads it at step 25, but its range ends at step 7: there, "
                <Term wb=chain value=name("arg_tuple.5{0}") />
                " takes its place, which is the same counter as the loop's condition sees it."
            </p>
            <Figure
                wb=chain
                title=CHAIN_TITLE
                caption="All values of one buffer, in the order of time. A hollow mark beyond the end of a range is a reader that the range was cut away from: by then another name stands for the same bytes."
                reserve=[357, 365, 400]
            >
                <Chain />
            </Figure>
        }
        .into_any()
    }

    /// The two values that are compared.
    fn pair(wb: Workbench) -> Option<[u32; 2]> {
        let named = |key: &str| wb.state.with(|s| s.word(key).map(str::to_owned));
        let base = wb.base.get()?;
        let of =
            |key: &str, n: usize| named(key).and_then(|name| base.find(&name)).or_else(|| base.find(PAIR[n]));
        Some([of("of", 0)?, of(OTHER, 1)?])
    }

    fn pair_words(wb: Workbench) -> String {
        let (Some(opened), Some(run), Some([a, b])) = (wb.opened.get(), wb.run.get(), pair(wb)) else {
            return String::new();
        };
        lessons::pair_words(&opened, &run, a, b).unwrap_or_default()
    }

    #[component]
    fn Pair() -> impl IntoView {
        let wb = use_workbench();
        let large = move |width: f64| {
            let (run, [a, b]) = (wb.run.get()?, pair(wb)?);
            Some(scene::ranges(&run.picture, &[a, b], overlap(&run.picture, a, b), None, width))
        };
        // A click in the overview exchanges the second value, as choosing from the list does.
        let picked = Memo::new(move |_| wb.selected.get());
        Effect::watch(
            move || picked.get(),
            move |value, before, _| {
                if before.is_some_and(|b| b != value)
                    && let Some(name) = value.and_then(|v| {
                        wb.base.with_untracked(|b| Some(b.as_ref()?.original.picture.item(v)?.name.clone()))
                    })
                {
                    wb.set_param(OTHER, name.as_str());
                }
            },
            false,
        );
        let small = move |width: f64| {
            let run = wb.run.get()?;
            let options = scene::TimelineOptions {
                width,
                all_rows: true,
                selected: None,
                lost: &[],
                at_end: &[],
                at_start: &[],
                peak: None,
            };
            let mut scene = scene::timeline(&run.picture, &run.picture, options).scene;
            for mark in &mut scene.marks {
                if mark.value.is_some()
                    && pair(wb).is_some_and(|p| mark.value.is_some_and(|v| p.contains(&v)))
                {
                    mark.class = if mark.class.is_empty() { "selected" } else { mark.class };
                }
            }
            Some(scene)
        };
        let said = move || pair_words(wb);
        view! {
            <div class="controls above">
                <NameChoice key="of" label="First" n=0 />
                <NameChoice key=OTHER label="Second" n=1 />
            </div>
            <p class="told-here">{move || pair_words(wb)}</p>
            <Drawn
                wb
                title=PAIR_TITLE
                class="ranges"
                said=Signal::derive(said)
                scene=Callback::new(large)
            />
            <p class="sum">"Overview: a row a buffer"</p>
            <Drawn
                wb
                title="Overview"
                class="timeline"
                said=Signal::derive(|| "Live ranges of all values. The table holds the same.".to_owned())
                scene=Callback::new(small)
            />
        }
    }

    /// One of the two, by name.
    #[component]
    fn NameChoice(key: &'static str, label: &'static str, n: usize) -> impl IntoView {
        let wb = use_workbench();
        let now = move || pair(wb).map(|p| p[n]);
        let options = Memo::new(move |_| {
            wb.base.with(|o| {
                let mut items: Vec<_> = o
                    .iter()
                    .flat_map(|o| o.original.picture.items.iter())
                    .map(|i| (i.start, i.end, i))
                    .collect();
                items.sort_by_key(|(start, end, i)| (*start, *end, i.value));
                items.iter().map(|(_, _, i)| (i.value, i.name.clone())).collect::<Vec<_>>()
            })
        });
        let choose = move |e: Event| {
            let value: Option<u32> = event_target_value(&e).parse().ok();
            let name = value.and_then(|v| {
                options.with_untracked(|o| o.iter().find(|(w, _)| *w == v).map(|(_, n)| n.clone()))
            });
            if let Some(name) = name {
                wb.set_param(key, name.as_str());
            }
        };
        view! {
            <div class="field chooser">
                <label>
                    {label}
                    <select on:change=choose>
                        <For each=move || options.get() key=Clone::clone let((value, name))>
                            <option value=value.to_string() selected=move || now() == Some(value)>
                                {name}
                            </option>
                        </For>
                    </select>
                </label>
            </div>
        }
    }

    fn chain_of(wb: Workbench) -> Option<Vec<u32>> {
        let (run, base) = (wb.run.get()?, wb.base.get()?);
        let value = wb.selected.get().or_else(|| base.find(LINK))?;
        Some(lessons::buffer_mates(&run.picture, value))
    }

    fn chain_words(wb: Workbench) -> String {
        match (wb.run.get(), chain_of(wb)) {
            (Some(run), Some(values)) => lessons::chain_words(&run.picture, &values),
            _ => String::new(),
        }
    }

    #[component]
    fn Chain() -> impl IntoView {
        let wb = use_workbench();
        let draw = move |width: f64| {
            Some(scene::ranges(&wb.run.get()?.picture, &chain_of(wb)?, None, wb.selected.get(), width))
        };
        view! {
            <div class="controls above">
                <ValueChoice all=true label="Buffer of" />
            </div>
            <p class="told-here">{move || chain_words(wb)}</p>
            <Drawn
                wb
                title=CHAIN_TITLE
                class="ranges"
                said=Signal::derive(move || chain_words(wb))
                scene=Callback::new(draw)
            />
        }
    }
}
