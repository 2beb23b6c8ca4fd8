//! The list of values: at the peak or at any time, filtered and put together.

use super::state::{Lab, When};
use crate::rows::space_name;
use crate::talk::{Answer, Ask, Filter, Group, Kind, RowLine, Rows, RowsQuery, Sort, TreeLine};
use assigner::words::{both, bytes, grouped};
use leptos::prelude::*;
use std::sync::Arc;

const PAGE: u32 = 100;
/// Lines of the list to choose from.
const TOPS: [u32; 4] = [10, PAGE, 500, u32::MAX];
const UNITS: [(u64, &str); 4] = [(1, "B"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB")];

const GROUPS: [(Group, &str); 9] = [
    (Group::None, "each value"),
    (Group::Shape, "shape and opcode"),
    (Group::Op, "operation"),
    (Group::Scope, "scope, numbers left out"),
    (Group::Line, "source line"),
    (Group::Opcode, "opcode"),
    (Group::Kind, "kind of allocation"),
    (Group::Space, "memory space"),
    (Group::Pass, "forward, recomputed, backward"),
];

const SORTS: [(Sort, &str); 5] = [
    (Sort::Bytes, "largest first"),
    (Sort::Start, "first step"),
    (Sort::Length, "longest alive first"),
    (Sort::Place, "address"),
    (Sort::Name, "name"),
];

const WHENS: [(When, &str); 3] =
    [(When::Peak, "at the peak"), (When::Cursor, "at the step of the cursor"), (When::Ever, "at any time")];

/// A choice of a few.
#[component]
fn Choice<T: Copy + PartialEq + Send + Sync + 'static>(
    label: &'static str,
    id: &'static str,
    options: Vec<(T, String)>,
    value: Signal<T>,
    set: Callback<T>,
) -> impl IntoView {
    let all = StoredValue::new(options.clone());
    view! {
        <span class="field">
            <label for=id>{label}</label>
            <select
                id=id
                on:change=move |e| {
                    let at: usize = event_target_value(&e).parse().unwrap_or(0);
                    if let Some((v, _)) = all.with_value(|a| a.get(at).cloned()) {
                        set.run(v);
                    }
                }
            >
                {options
                    .into_iter()
                    .enumerate()
                    .map(|(i, (v, name))| {
                        view! {
                            <option value=i.to_string() selected=move || value.get() == v>
                                {name}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        </span>
    }
}

fn named<T: Copy>(options: &[(T, &str)]) -> Vec<(T, String)> {
    options.iter().map(|(v, n)| (*v, (*n).to_owned())).collect()
}

/// The list with its filters.
#[component]
pub fn ValuesPane(lab: Lab) -> impl IntoView {
    let count = RwSignal::new(PAGE);
    let rows = RwSignal::new(None::<Arc<Rows>>);
    let pattern = RwSignal::new(lab.filter.with_untracked(|f| f.pattern.clone()));
    // What is wrong with the pattern; the list stays as it was.
    let wrong = RwSignal::new(None::<String>);
    let unit = RwSignal::new(1u64 << 20);
    let query = Memo::new(move |_| {
        let mut filter: Filter = lab.filter.get();
        filter.alive_at = match lab.when.get() {
            When::Peak => Some(lab.peak_step()),
            When::Cursor => Some(lab.step.get()),
            When::Ever => None,
        };
        RowsQuery {
            source: lab.source.get(),
            filter,
            group: lab.group.get(),
            within: lab.within.get(),
            sort: lab.sort.get(),
            from: 0,
            count: count.get(),
        }
    });
    Effect::new(move |_| {
        // A map that is there means that the worker has the assignment.
        if lab.map.with(Option::is_none) {
            rows.set(None);
            return;
        }
        let asked = query.get();
        lab.link.ask(Ask::Rows(asked.clone()), move |answer| {
            if let Answer::Rows(answer) = answer
                && query.try_get_untracked().as_ref() == Some(&asked)
            {
                // The map dims what the list leaves out, but for the step: a map of one step is no map.
                let only_step = Filter { alive_at: asked.filter.alive_at, ..Filter::default() };
                wrong.set(answer.problem.clone());
                if answer.problem.is_some() {
                    return;
                }
                let fitting = answer.fitting.as_ref().filter(|_| asked.filter != only_step);
                lab.fitting.set(fitting.map(|f| {
                    let mut fits = vec![false; f.iter().max().map_or(0, |m| *m as usize + 1)];
                    for r in f {
                        fits[*r as usize] = true;
                    }
                    Arc::new(fits)
                }));
                rows.set(Some(Arc::new(answer)));
            }
        });
    });
    let set_filter = move |change: &dyn Fn(&mut Filter)| {
        lab.within.set(None);
        lab.filter.update(|f| change(f));
    };
    let colors: Vec<u32> = lab.map.with_untracked(|m| {
        let mut colors: Vec<u32> = m.iter().flat_map(|m| &m.slabs).map(|s| s.color).collect();
        colors.sort_unstable();
        colors.dedup();
        colors
    });
    let kinds: Vec<(Option<Kind>, String)> = std::iter::once((None, "all".to_owned()))
        .chain(Kind::ALL.iter().map(|k| (Some(*k), k.name().to_owned())))
        .collect();
    let spaces: Vec<(Option<u32>, String)> = std::iter::once((None, "all".to_owned()))
        .chain(colors.iter().map(|c| (Some(*c), space_name(*c))))
        .collect();
    view! {
        <form class="filters" aria-label="Filter" on:submit=move |e| e.prevent_default()>
            <Choice
                label="Alive"
                id="when"
                options=named(&WHENS)
                value=lab.when.into()
                set=Callback::new(move |w| lab.when.set(w))
            />
            <Choice
                label="Together by"
                id="group"
                options=named(&GROUPS)
                value=lab.group.into()
                set=Callback::new(move |g| {
                    lab.within.set(None);
                    lab.group.set(g);
                })
            />
            <Choice
                label="Order"
                id="sort"
                options=named(&SORTS)
                value=lab.sort.into()
                set=Callback::new(move |s| lab.sort.set(s))
            />
            <Choice
                label="Kind"
                id="kind"
                options=kinds
                value=Signal::derive(move || lab.filter.with(|f| f.kind))
                set=Callback::new(move |k| set_filter(&|f| f.kind = k))
            />
            {move || {
                (lab.when.get() == When::Cursor)
                    .then(|| {
                        view! {
                            <span class="field">
                                <label for="at-step">"step"</label>
                                <input
                                    id="at-step"
                                    type="number"
                                    min="0"
                                    prop:value=move || lab.step.get().to_string()
                                    on:change=move |e| {
                                        if let Ok(step) = event_target_value(&e).parse() {
                                            lab.step.set(step);
                                        }
                                    }
                                />
                            </span>
                        }
                    })
            }}
            {(colors.len() > 1)
                .then(|| {
                    view! {
                        <Choice
                            label="Memory space"
                            id="space"
                            options=spaces
                            value=Signal::derive(move || lab.filter.with(|f| f.color))
                            set=Callback::new(move |c| set_filter(&|f| f.color = c))
                        />
                    }
                })}
            <span class="field">
                <label for="min-bytes">"At least"</label>
                <input
                    id="min-bytes"
                    type="number"
                    min="0"
                    step="any"
                    prop:value=move || {
                        let least = lab.filter.with(|f| f.min_bytes) as f64 / unit.get() as f64;
                        ((least * 1000.0).round() / 1000.0).to_string()
                    }
                    on:change=move |e| {
                        let least = event_target_value(&e).parse::<f64>().unwrap_or(0.0).max(0.0);
                        let bytes = (least * unit.get_untracked() as f64).round() as u64;
                        set_filter(&|f| f.min_bytes = bytes);
                    }
                />
                <label class="hidden" for="min-unit">
                    "Unit"
                </label>
                <select
                    id="min-unit"
                    on:change=move |e| {
                        let to: u64 = event_target_value(&e).parse().unwrap_or(1);
                        // The number that stands there is meant in the new unit.
                        let from = unit.get_untracked();
                        unit.set(to);
                        let count = lab.filter.with_untracked(|f| f.min_bytes) / from.max(1);
                        if count > 0 {
                            set_filter(&|f| f.min_bytes = count.saturating_mul(to));
                        }
                    }
                >
                    {UNITS
                        .map(|(bytes, name)| {
                            view! {
                                <option value=bytes.to_string() selected=move || unit.get() == bytes>
                                    {name}
                                </option>
                            }
                        })}
                </select>
            </span>
            <span class="field">
                <label for="min-steps">"for at least"</label>
                <input
                    id="min-steps"
                    type="number"
                    min="0"
                    prop:value=move || lab.filter.with(|f| f.min_steps.to_string())
                    on:change=move |e| {
                        let least = event_target_value(&e).parse().unwrap_or(0);
                        set_filter(&|f| f.min_steps = least);
                    }
                />
                <span class="small">"steps"</span>
            </span>
            <Choice
                label="Show"
                id="top"
                options=TOPS.iter().map(|n| (*n, if *n == u32::MAX { "all".to_owned() } else { format!("the first {n}") })).collect()
                value=count.into()
                set=Callback::new(move |n| count.set(n))
            />
            <span class="field search">
                <label for="pattern">"Matching"</label>
                <span class="with-error">
                    <input
                        id="pattern"
                        type="search"
                        spellcheck="false"
                        placeholder="regular expression"
                        aria-describedby="pattern-wrong"
                        aria-invalid=move || wrong.with(Option::is_some).then_some("true")
                        prop:value=move || pattern.get()
                        on:input=move |e| {
                            let text = event_target_value(&e);
                            pattern.set(text.clone());
                            set_filter(&|f| f.pattern.clone_from(&text));
                        }
                    />
                    <span class="error small" id="pattern-wrong" role="alert">
                        {move || wrong.get()}
                    </span>
                </span>
            </span>
        </form>
        {move || {
            let filter = lab.filter.get();
            let only = filter.allocation.map(|a| format!("only allocation {a}"));
            (!filter.is_everything())
                .then(|| {
                    view! {
                        <p class="small only" id="only">
                            {only}
                            " "
                            <button
                                type="button"
                                id="no-filter"
                                on:click=move |_| {
                                    pattern.set(String::new());
                                    set_filter(&|f| *f = Filter::default());
                                }
                            >
                                "Remove all filters"
                            </button>
                        </p>
                    }
                })
        }}
        <Tree lab />
        {move || match rows.get() {
            None => view! { <p class="quiet">"Reading…"</p> }.into_any(),
            Some(rows) => view! { <List lab rows count /> }.into_any(),
        }}
    }
}

/// The scopes of what is alive, folded.
#[component]
fn Tree(lab: Lab) -> impl IntoView {
    let lines = RwSignal::new(Vec::<TreeLine>::new());
    let open = RwSignal::new(false);
    Effect::new(move |_| {
        if !open.get() || lab.map.with(Option::is_none) {
            return;
        }
        let alive_at = match lab.when.get() {
            When::Peak => Some(lab.peak_step()),
            When::Cursor => Some(lab.step.get()),
            When::Ever => None,
        };
        lab.link.ask(Ask::Tree { source: lab.source.get(), alive_at }, move |answer| {
            if let Answer::Tree(all) = answer {
                lines.set(all);
            }
        });
    });
    view! {
        <details
            class="as-tree"
            id="tree"
            on:toggle=move |e| {
                let is_open = event_target::<web_sys::Element>(&e).has_attribute("open");
                if open.get_untracked() != is_open {
                    open.set(is_open);
                }
            }
        >
            <summary>"As a tree of scopes"</summary>
            {move || {
                let all = lines.get();
                let whole = all.first().map_or(0, |l| l.bytes);
                view! { <ul class="tree">{branch(lab, &all, 0, whole)}</ul> }
            }}
        </details>
    }
}

/// The lines of one level from `from` on, with what is below them.
fn branch(lab: Lab, all: &[TreeLine], from: usize, whole: u64) -> Vec<AnyView> {
    let Some(depth) = all.get(from).map(|l| l.depth) else { return Vec::new() };
    let mut out = Vec::new();
    let mut at = from;
    while let Some(line) = all.get(at).filter(|l| l.depth >= depth) {
        if line.depth > depth {
            at += 1;
            continue;
        }
        let words = format!(
            " {} ({}), {} values",
            both(line.bytes),
            share(line.bytes, whole),
            grouped(u64::from(line.count))
        );
        let name = line.name.clone();
        let row = line.row;
        let has_more = all.get(at + 1).is_some_and(|l| l.depth > depth);
        let top = depth == 0;
        out.push(if has_more {
            let below = branch(lab, all, at + 1, whole);
            view! {
                <li>
                    <details open=top>
                        <summary>
                            <span class="code">{name}</span>
                            {words}
                        </summary>
                        <ul class="tree">{below}</ul>
                    </details>
                </li>
            }
            .into_any()
        } else {
            view! {
                <li>
                    <button type="button" class="link code" on:click=move |_| lab.select(row)>
                        {name}
                    </button>
                    {words}
                </li>
            }
            .into_any()
        });
        at += 1;
    }
    out
}

#[component]
fn List(lab: Lab, rows: Arc<Rows>, count: RwSignal<u32>) -> impl IntoView {
    let whole = rows.whole;
    let summary = format!(
        "{} values on {}, {} {}.",
        grouped(u64::from(rows.values)),
        both(rows.bytes),
        share(rows.bytes, whole),
        rows.whole_words
    );
    let more = rows.of > rows.lines.len() as u32;
    let left = rows.of.saturating_sub(rows.lines.len() as u32);
    let lines = rows.lines.iter().map(|l| view! { <Line lab line=l.clone() whole /> }).collect_view();
    view! {
        <p class="summary" role="status">
            {summary}
            {move || {
                lab.within
                    .get()
                    .map(|key| {
                        view! {
                            " "
                            <span class="within">
                                {format!("Only: {}", crate::text::cut(&key))}
                                " "
                                <button type="button" on:click=move |_| lab.within.set(None)>
                                    "All groups"
                                </button>
                            </span>
                        }
                    })
            }}
        </p>
        <div class="scroll" tabindex="0" role="region" aria-label="Values">
            <table class="values" id="values">
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"Bytes"</th>
                        <th scope="col">"Share"</th>
                        <th scope="col">"Cumulative"</th>
                        <th scope="col">"Without padding"</th>
                        <th scope="col">"Steps"</th>
                        <th scope="col">"Allocation, offset"</th>
                        <th scope="col">"Kind"</th>
                        <th scope="col">"Where it comes from"</th>
                    </tr>
                </thead>
                <tbody>{lines}</tbody>
            </table>
        </div>
        {more
            .then(|| {
                view! {
                    <button type="button" id="more" on:click=move |_| count.update(|c| *c = c.saturating_add(4 * PAGE))>
                        {format!("Show more ({} left)", grouped(u64::from(left)))}
                    </button>
                }
            })}
    }
    .into_any()
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "—".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

#[component]
fn Line(lab: Lab, line: RowLine, whole: u64) -> impl IntoView {
    let row = line.row;
    let key = line.key.clone().filter(|_| line.count > 1);
    let is_group = key.is_some();
    let name = if line.count > 1 {
        format!("{} × {}", grouped(u64::from(line.count)), line.name)
    } else {
        line.name.clone()
    };
    let act = move |_| match &key {
        Some(key) => lab.within.set(Some(key.clone())),
        None => lab.select(row),
    };
    let current = move || (!is_group && lab.selected.get() == Some(row)).then_some("true");
    // Of a group its own name says it already.
    let about = if line.count > 1 && line.name.starts_with(&line.shape) && !line.shape.is_empty() {
        String::new()
    } else {
        format!("{} {}", line.shape, line.opcode)
    };
    let origin = [line.op.as_str(), line.line.as_str(), line.pass.as_str()]
        .into_iter()
        .filter(|t| !t.is_empty())
        .collect::<Vec<_>>()
        .join(" · ");
    let (places, more_places) = (line.places.clone(), line.more_places);
    let padding = match line.logical {
        Some(l) if l != line.bytes => {
            format!("{} (× {:.2})", bytes(l), line.bytes as f64 / l.max(1) as f64)
        }
        Some(l) => bytes(l),
        None => "—".to_owned(),
    };
    view! {
        <tr aria-current=current>
            <th scope="row">
                <button type="button" class="link code" on:click=act>
                    {name}
                </button>
                <span class="small quiet code">{about}</span>
            </th>
            <td class="number">{bytes(line.bytes)}</td>
            <td class="number">{share(line.bytes, whole)}</td>
            <td class="number">{bytes(line.cumulative)}</td>
            <td class="number">{padding}</td>
            <td class="number">
                {line
                    .range
                    .map_or_else(
                        || "—".to_owned(),
                        |(a, b)| format!("{}–{}", grouped(u64::from(a)), grouped(u64::from(b))),
                    )}
            </td>
            <td class="number">
                {line.place.map_or_else(|| "—".to_owned(), |(a, o)| format!("{a}, {}", grouped(o)))}
            </td>
            <td>{line.kind.map_or("several", Kind::name)}</td>
            <td class="small">
                {origin}
                {(!places.is_empty())
                    .then(|| {
                        view! {
                            <details class="places">
                                <summary>
                                    {format!("{} places", grouped(places.len() as u64 + u64::from(more_places)))}
                                </summary>
                                <ul>
                                    {places
                                        .into_iter()
                                        .map(|(place, count)| {
                                            view! { <li translate="no">{format!("{} × ", grouped(u64::from(count)))} {place}</li> }
                                        })
                                        .collect_view()}
                                    {(more_places > 0)
                                        .then(|| view! { <li>{format!("and {} more", grouped(u64::from(more_places)))}</li> })}
                                </ul>
                            </details>
                        }
                    })}
            </td>
        </tr>
    }
}
