//! Chapter 7: colours.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 7,
    slug: "colour-is-a-memory-space",
    title: "Colour is a memory space",
    question: "A machine has several memories. Which value stands in which, and what does that change?",
    figures: &["spaces"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(packing, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const TITLE: &str = "A slab for each memory";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let Some(opened) = crate::colours::opened(0) else { return Vec::new() };
    let (all, selected) = (crate::colours::spaces(opened), crate::colours::suggested(0));
    vec![super::Poster {
        figure: "spaces",
        title: TITLE,
        caption: crate::colours::sentence(opened),
        class: "heap",
        scene: crate::scene::spaces(&opened.original.picture, &all, selected, 900.0),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::TITLE;
    use crate::colours::{self, PROGRAMS, Space};
    use crate::engine::Opened;
    use crate::figure::Figure;
    use crate::modules::FIRST_ID;
    use crate::scene;
    use crate::state::{Selection, Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::views::choose::OneOf;
    use crate::views::drawn::Drawn;
    use crate::workbench::{Workbench, use_workbench};
    use assigner::words::{bytes, grouped};
    use leptos::ev::Event;
    use leptos::prelude::*;

    /// The program on screen.
    fn program(wb: Workbench) -> usize {
        wb.state.with(|s| PROGRAMS.iter().position(|p| s.word("program") == Some(p.id)).unwrap_or(0))
    }

    /// The state with another program on screen.
    fn with_program(wb: Workbench, n: usize) -> State {
        let mut next = wb.state.get_untracked();
        next.selection = Selection::Suggested;
        if n == 0 {
            next.params.remove("program");
        } else {
            next.params.insert("program".to_owned(), PROGRAMS[n].id.into());
        }
        next
    }

    fn opened(wb: Workbench) -> Option<&'static Opened> {
        if wb.awake.get() { colours::opened(program(wb)) } else { None }
    }

    /// The selected value of the program on screen.
    fn selected(wb: Workbench) -> Option<u32> {
        let value = match wb.state.with(|s| s.selection) {
            Selection::Suggested => colours::suggested(program(wb)),
            Selection::Nothing => None,
            Selection::Value(v) => Some(v),
        }?;
        opened(wb)?.original.picture.item(value).map(|_| value)
    }

    fn why(wb: Workbench) -> Option<String> {
        colours::why(opened(wb)?, selected(wb)?)
    }

    /// The flags of copies, and what there is in their space.
    fn flags() -> Option<(u64, u64)> {
        let opened = colours::opened(0)?;
        let space = colours::spaces(opened).into_iter().find(|s| s.color == 2)?;
        let picture = &opened.original.picture;
        Some((space.bytes, picture.items.iter().filter(|i| i.slab == space.temp).map(|i| i.size).sum()))
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("spaces", State::new(Source::Shipped(FIRST_ID.to_owned())));
        wb.say_with(move || why(wb).or_else(|| Some(colours::sentence(opened(wb)?))).unwrap_or_default());
        // A value of a program, in prose: it is lit while that program is on screen, and a press shows it.
        let term = move |n: usize, name: &'static str| {
            let find = move || colours::opened(n).and_then(|o| o.find(name));
            view! {
                <Term
                    wb
                    value=Signal::derive(move || name.to_owned())
                    number=Signal::derive(move || if wb.awake.get() && program(wb) == n { find() } else { None })
                    choose=Callback::new(move |()| {
                        let mut next = with_program(wb, n);
                        next.selection = find().map_or(Selection::Suggested, Selection::Value);
                        wb.set(next);
                    })
                />
            }
        };
        let sizes = move || flags().map(|(_, sum)| [4, sum, 3 * 512, 3 * 16384]);
        let check = move || {
            let n = program(wb);
            let value = selected(wb)?;
            let o = colours::opened(n)?;
            let item = o.original.picture.item(value)?;
            let before = colours::before(o, item);
            let progress = match (PROGRAMS[n].id, colours::color_of(o, value)) {
                ("tpu" | "offload", _) => "This is a program for TPU.".to_owned(),
                (_, Some(1)) if before.is_empty() => {
                    format!("{} is in collective memory, but no value stood there before it.", item.name)
                }
                (_, Some(1)) => format!("{} stands where {} stood.", item.name, before.join(", ")),
                (_, c) => format!("{} is in space {}.", item.name, c.unwrap_or_default()),
            };
            Some(PuzzleResult { solved: colours::takes_over(n, value), progress })
        };
        view! {
            <p>
                "Whoever reads XLA's source finds each value with a " <dfn>"colour"</dfn>
                " and thinks of colouring a graph, as register allocators do. It is nothing of the kind. A colour is the "
                "number of a memory: every layout can end in " <span class="code">"S(1)"</span> " or another number, the "
                <dfn>"memory space"</dfn> ", and where nothing is written it is 0. Colours are there before buffer assignment "
                "begins, and it changes none. It only keeps them apart: one buffer has one colour, one allocation has one, and "
                "a value never goes into an allocation of another colour. "
                <Rule section="8.1" />
            </p>
            <p>
                "So each colour is packed by itself, and its temporaries become one slab. With a memory come its own round "
                "numbers: on TPU, places in main memory begin at multiples of 16,384 bytes, in vector memory at multiples of "
                "4,096, and flags at multiples of 4, which is their size. On CPU there is one memory, so every colour is 0, and places "
                "begin at multiples of 64 bytes. "
                <Rule section="8.1" />
            </p>
            <Predict
                wb
                id="flags"
                question=Signal::derive(|| {
                    "In the program for TPU three copies run beside the computation, and each has a flag of 4 bytes in S(2) that says when it is done. How large is the slab of S(2)?"
                        .to_owned()
                })
                options=Signal::derive(move || {
                    sizes().map(|s| s.map(bytes).to_vec()).unwrap_or_default()
                })
                answer=Signal::derive(move || {
                    let (size, _) = flags()?;
                    sizes()?.iter().position(|s| *s == size)
                })
                explain=Callback::new(move |_: usize| {
                    flags()
                        .map(|(size, sum)| {
                            format!(
                                "Together the flags have {}, and the slab has {}. The packing is the same in every memory: a flag is wanted from the copy's start to its end, no two of these are wanted at once, and places here begin at multiples of 4.",
                                bytes(sum), bytes(size)
                            )
                        })
                        .unwrap_or_default()
                })
            />
            <Figure
                wb
                title=TITLE
                caption="One slab a memory space, each on its own scale: steps across, addresses upwards. The thin lines are where a place may begin. Choose a value to see why it is there."
                reserve=[902, 944, 1250]
                table=SpacesTable
            >
                <Spaces />
            </Figure>
            <Puzzle
                id="exchange"
                goal="open the exchange between GPUs and select a value in collective memory that stands where another value stood before."
                check=Signal::derive(check)
                hint="In S(1), look for two bands at the same height."
            />
            <p>
                "The same number is not the same memory everywhere. On GPU, S(1) is " <dfn>"collective memory"</dfn>
                ": what the GPUs exchange has to be registered with the others, so it gets a slab of its own, and the colour is "
                "given to a whole buffer if any of its values takes part in an exchange. On TPU, S(1) is the vector memory, and "
                "what goes there was decided before, with exact addresses, by " <dfn>"memory space assignment"</dfn>
                ": buffer assignment takes that slab as it comes. S(2) has the flags of copies, such as " {term(0, "copy-start{2}")}
                "; in S(6) we see single numbers that steer the program, such as " {term(0, "select_n.0")} ". S(5) is the host's memory, where a program puts away arrays for which the device has "
                "no room: the third program does that with " {term(2, "copy-start{0}")} " and then with "
                {term(2, "copy-start.2{0}")} ", and in the host's slab, too, the second stands where the first stood. XLA's memory usage report has a name for each number, the same names whatever "
                "the machine: it calls the host's memory " <span class="code">"cmem"</span> ", and collective memory "
                <span class="code">"vmem"</span> ". "
                <Rule section="8.1" />
            </p>
        }
        .into_any()
    }

    #[component]
    fn Spaces() -> impl IntoView {
        let wb = use_workbench();
        let all = Memo::new(move |_| opened(wb).map(colours::spaces).unwrap_or_default());
        let sentence = move || opened(wb).map(colours::sentence).unwrap_or_default();
        let choose = move |id: String| {
            wb.set(with_program(wb, PROGRAMS.iter().position(|p| p.id == id).unwrap_or(0)));
        };
        let values = move || {
            let mut items: Vec<(u32, String, u32)> = opened(wb)
                .map(|o| {
                    let items = o.original.picture.items.iter();
                    items
                        .filter_map(|i| Some((i.value, i.name.clone(), colours::color_of(o, i.value)?)))
                        .collect()
                })
                .unwrap_or_default();
            items.sort_by_key(|i| (i.2, i.0));
            items
        };
        let select = move |e: Event| wb.select(event_target_value(&e).parse().ok());
        let about = move || PROGRAMS[program(wb)].about;
        view! {
            <div
                class="spaces"
                data-spaces=move || {
                    all.with(|a| {
                        a.iter()
                            .filter(|s| s.temp.is_some())
                            .map(|s| format!("{}:{}", s.color, s.bytes))
                            .collect::<Vec<_>>()
                            .join(" ")
                    })
                }
            >
                <div class="touch-controls">
                    <OneOf
                        label="Program"
                        options=PROGRAMS.iter().map(|o| (o.id, o.title.to_owned())).collect()
                        now=Signal::derive(move || PROGRAMS[program(wb)].id)
                        choose=Callback::new(choose)
                    />
                    <label class="field">
                        "Value"
                        <select on:change=select>
                            <option value="" selected=move || selected(wb).is_none()>
                                "none"
                            </option>
                            <For each=values key=Clone::clone let((value, name, color))>
                                <option value=value.to_string() selected=move || selected(wb) == Some(value)>
                                    {format!("S({color}) {name}")}
                                </option>
                            </For>
                        </select>
                    </label>
                </div>
                <p class="quiet">{about}</p>
                <p class="answer">{sentence}</p>
                <Drawn
                    wb
                    title="A slab for each memory"
                    class="heap"
                    said=Signal::derive(sentence)
                    scene=Callback::new(move |width: f64| {
                        let o = opened(wb)?;
                        let picked = selected(wb);
                        Some(all.with(|a| scene::spaces(&o.original.picture, a, picked, width)))
                    })
                />
                <p class="answer" data-said="why">
                    {move || why(wb).unwrap_or_else(|| "Choose a value.".to_owned())}
                </p>
                <ul class="space-list">
                    <For each=move || all.get() key=Clone::clone let(space)>
                        <SpaceLine space />
                    </For>
                </ul>
            </div>
        }
    }

    #[component]
    fn SpaceLine(space: Space) -> impl IntoView {
        let temp = match (space.temp, space.is_preset) {
            (None, _) => "no temporaries".to_owned(),
            (Some(_), true) => format!(
                "{} values in a slab of {}, placed beforehand by memory space assignment",
                space.values,
                bytes(space.bytes)
            ),
            (Some(_), false) => {
                format!("{} values in a slab of {}, packed here", space.values, bytes(space.bytes))
            }
        };
        let others = match space.others {
            (0, _) => String::new(),
            (n, size) => format!("; {n} allocations of parameters, results and constants, {}", bytes(size)),
        };
        view! {
            <li>
                <b>{format!("S({})", space.color)}</b>
                " "
                {space.name}
                ", in reports "
                <span class="code">{space.report}</span>
                {format!(": multiples of {}; {temp}{others}.", bytes(space.alignment))}
            </li>
        }
    }

    /// The figure as a table: each value with its colour and place.
    #[component]
    fn SpacesTable() -> impl IntoView {
        let wb = use_workbench();
        let rows = move || {
            let o = opened(wb)?;
            let mut items: Vec<_> = o.original.picture.items.iter().collect();
            items.sort_by_key(|i| (colours::color_of(o, i.value), i.offset, i.value));
            Some(
                items
                    .into_iter()
                    .map(|i| {
                        view! {
                            <tr>
                                <th scope="row" class="code">{i.name.clone()}</th>
                                <td class="n">{colours::color_of(o, i.value)}</td>
                                <td class="n">{i.start}</td>
                                <td class="n">{i.end}</td>
                                <td class="n">{grouped(i.offset)}</td>
                                <td class="n">{grouped(i.size)}</td>
                            </tr>
                        }
                    })
                    .collect_view(),
            )
        };
        view! {
            <table>
                <caption>"Every value with a live range, by memory space"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col" class="n">"Colour"</th>
                        <th scope="col" class="n">"Written"</th>
                        <th scope="col" class="n">"Wanted until"</th>
                        <th scope="col" class="n">"Offset"</th>
                        <th scope="col" class="n">"Bytes"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
