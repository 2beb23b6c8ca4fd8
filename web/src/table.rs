//! The table that says what the figures show.

use crate::workbench::use_workbench;
use assigner::words::{grouped, list};
use leptos::ev::Event;
use leptos::prelude::*;
use sorts::Arrange as _;

/// One row.
#[derive(Clone, PartialEq, Eq)]
struct Line {
    value: u32,
    name: String,
    opcode: String,
    start: u32,
    end: u32,
    edited: bool,
    bytes: String,
    slab: String,
    offset: String,
    shares: String,
}

/// The table in a part of the page that opens: `rows`, or the table of values.
#[component]
pub fn Table(
    /// Another table in its place.
    #[prop(optional)]
    rows: Option<ViewFn>,
) -> impl IntoView {
    let wb = use_workbench();
    let rows = StoredValue::new(rows);
    let open = move || wb.state.with(|s| s.table);
    let toggled = move |e: Event| {
        let is_open = event_target::<web_sys::Element>(&e).has_attribute("open");
        if is_open != wb.state.with_untracked(|s| s.table) {
            wb.update(|s| s.table = is_open);
        }
    };
    view! {
        <details class="table" prop:open=open on:toggle=toggled>
            <summary>"Table " <span class="quiet">"the same as the figures, in numbers"</span></summary>
            <Show when=move || open() && wb.awake.get()>
                {match rows.get_value() {
                    Some(rows) => {
                        view! {
                            <div class="scroll" tabindex="0" role="group" aria-label="Table">
                                {rows.run()}
                            </div>
                        }
                            .into_any()
                    }
                    None => view! { <Rows /> }.into_any(),
                }}
            </Show>
        </details>
    }
}

#[component]
fn Rows() -> impl IntoView {
    let wb = use_workbench();
    let lines = Memo::new(move |_| {
        let Some(run) = wb.run.get() else { return Vec::new() };
        let picture = &run.picture;
        let all = wb.state.with(|s| s.all_rows);
        let mut items: Vec<_> = picture.items.iter().filter(|i| all || picture.is_temp(i)).collect();
        items.arrange_by_key(|i| (i.start, i.end, i.value));
        items
            .into_iter()
            .map(|i| {
                let slab = i.slab.map(|s| &picture.slabs[s]);
                let mates: Vec<String> = picture.mates(i.value).iter().map(|m| m.name.clone()).collect();
                Line {
                    value: i.value,
                    name: i.name.clone(),
                    opcode: i.opcode.clone(),
                    start: i.start,
                    end: i.end,
                    edited: run.edits.iter().any(|e| e.value == i.value),
                    bytes: grouped(i.bytes),
                    slab: slab.map_or_else(String::new, |s| format!("{} {}", s.kind.name(), s.id)),
                    offset: slab.map_or_else(String::new, |_| grouped(i.offset)),
                    shares: list(&mates, 3),
                }
            })
            .collect::<Vec<_>>()
    });
    let sums = move || {
        wb.run.get().map(|r| {
            format!(
                "Heap of temporaries {} bytes; most alive at once {} bytes; all allocations {} bytes.",
                grouped(r.picture.heap_size()),
                grouped(r.curve.floor),
                grouped(r.picture.total_bytes)
            )
        })
    };
    view! {
        <div class="scroll" tabindex="0" role="group" aria-label="Table of values">
            <table>
                <caption>{sums}</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"Opcode"</th>
                        <th scope="col" class="n">"Start"</th>
                        <th scope="col" class="n">"End"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        <th scope="col">"Allocation"</th>
                        <th scope="col" class="n">"Offset"</th>
                        <th scope="col">"Same address, another time"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        lines
                            .get()
                            .into_iter()
                            .map(|l| {
                                let value = l.value;
                                view! {
                                    <tr
                                        class:selected=move || wb.selected.get() == Some(value)
                                        class:lit=move || wb.hover.get() == Some(value)
                                        on:mouseenter=move |_| wb.hover.set(Some(value))
                                        on:mouseleave=move |_| wb.hover.set(None)
                                    >
                                        <th scope="row">
                                            <button
                                                type="button"
                                                class="plain"
                                                on:click=move |_| wb.select(Some(value))
                                            >
                                                {l.name}
                                            </button>
                                        </th>
                                        <td>{l.opcode}</td>
                                        <td class="n" class:edited=l.edited>{l.start}</td>
                                        <td class="n" class:edited=l.edited>{l.end}</td>
                                        <td class="n">{l.bytes}</td>
                                        <td>{l.slab}</td>
                                        <td class="n">{l.offset}</td>
                                        <td>{l.shares}</td>
                                    </tr>
                                }
                            })
                            .collect_view()
                    }}
                </tbody>
            </table>
        </div>
    }
}
