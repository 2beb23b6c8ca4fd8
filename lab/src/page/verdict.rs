//! The answer, before anything else: how much is needed, what makes the peak, and what would change it.

use super::opening::Message;
use super::state::{Lab, Tab, When};
use super::trying::Changes;
use crate::talk::{Chosen, Face, Group, Kind, Maker, Notable, Source, SourceLine};
use assigner::words::{binary, both, bytes, grouped};
use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Notes that are told at once; the rest is folded.
const FIRST: usize = 3;

/// A part of a whole, in hundredths with one decimal.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// The three answers side by side.
#[component]
pub fn Verdict(lab: Lab, chosen: Arc<Chosen>) -> impl IntoView {
    if chosen.sources.is_empty() {
        return ().into_any();
    }
    let again = Arc::clone(&chosen);
    // Of what is looked at: the cards follow what is tried.
    let shown = Memo::new(move |_| {
        let source = lab.source.get();
        let tried =
            || lab.tried.with(|t| t.as_ref()?.as_ref().ok().map(|t| (t.line.clone(), t.face.clone())));
        let of_module = |source: Source| {
            let at = chosen.sources.iter().position(|s| s.source == source)?;
            Some((chosen.sources[at].clone(), chosen.faces.get(at).cloned().unwrap_or_default()))
        };
        let found = match source {
            Source::Tried => tried(),
            Source::Packed => lab.packing.get().and_then(|p| {
                let (_, face) = if p.of == Source::Tried { tried()? } else { of_module(p.of)? };
                Some((p.line.clone(), face))
            }),
            Source::Dump | Source::Ours => of_module(source),
        };
        found.map(|(line, face)| (Arc::new(line), Arc::new(face)))
    });
    let chosen = again;
    view! {
        {move || {
            let (line, face) = shown.get()?;
            Some(view! { <Cards lab chosen=chosen.clone() line face /> })
        }}
    }
    .into_any()
}

#[component]
fn Cards(lab: Lab, chosen: Arc<Chosen>, line: Arc<SourceLine>, face: Arc<Face>) -> impl IntoView {
    let first = line;
    let (color, step, live) = first.peak;
    let allocations = first.by_kind.iter().fold(0u32, |n, k| n + k.2);
    let kinds: Vec<(Kind, u64, u32)> = first.by_kind.iter().filter(|k| k.1 > 0).copied().collect();
    let total = first.total;
    let too_much = chosen.line.limit.map(|limit| {
        let over = total.saturating_sub(limit);
        if over > 0 {
            format!("There were {}: {} too much.", both(limit), binary(over))
        } else {
            format!("There were {} when it failed.", both(limit))
        }
    });
    let space = chosen.spaces.iter().find(|s| s.color == color).map(|s| s.name.clone());
    let place = match space {
        Some(name) if chosen.spaces.len() > 1 => format!(" in memory space {name}"),
        _ => String::new(),
    };
    let at = face.peak_at.clone();
    let line_of = move |_| {
        lab.step.set(step);
        lab.when.set(When::Peak);
        lab.tab.set(Tab::Values);
        if let Some(pane) = document().get_element_by_id("panes") {
            pane.scroll_into_view();
        }
    };
    let makers = face.makers.clone();
    let beside = face.beside.clone();
    let in_use = face.in_use;
    let temp = first
        .by_kind
        .iter()
        .filter(|k| matches!(k.0, Kind::Temp | Kind::ThreadLocal))
        .fold(0, |n, k| n + k.1);
    let fixed = total.saturating_sub(temp);
    let stack = kinds
        .iter()
        .map(|(kind, size, _)| {
            view! {
                <span
                    class=format!("part kind-{}", kind.name())
                    style:flex-grow=share(*size, total).to_string()
                ></span>
            }
        })
        .collect_view();
    let legend = kinds
        .iter()
        .map(|(kind, size, count)| {
            view! {
                <li>
                    <span class=format!("swatch kind-{}", kind.name()) aria-hidden="true"></span>
                    <span>{kind.name()}</span>
                    <span class="number" title=format!("{} in {} allocations", bytes(*size), grouped(u64::from(*count)))>
                        {binary(*size)}
                    </span>
                    <span class="number quiet">{format!("{:.1} %", share(*size, total))}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <div class="verdict" id="verdict">
            <section aria-labelledby="verdict-size">
                <h3 id="verdict-size">"What it needs"</h3>
                <p class="sum">
                    <b>{binary(total)}</b>
                    <span class="quiet small">
                        {format!("{} in {} allocations", bytes(total), grouped(u64::from(allocations)))}
                    </span>
                </p>
                {too_much.map(|words| view! { <p class="too-many">{words}</p> })}
                {face.packing.clone().map(|words| view! { <p class="small" id="packing">{words}</p> })}
                <Failed lab module=chosen.line.module />
                <div class="stack" aria-hidden="true">
                    {stack}
                </div>
                <ul class="shares">{legend}</ul>
            </section>
            <section aria-labelledby="verdict-why">
                <h3 id="verdict-why">"What makes the peak"</h3>
                {if live == 0 {
                    let at = at.clone();
                    view! {
                        <p>"No temporaries are packed: arguments, outputs and constants are all there is."</p>
                        {(in_use > 0)
                            .then(|| {
                                view! {
                                    <p class="at-peak">
                                        <b>{binary(in_use)}</b>
                                        {format!(" in use at step {}", grouped(u64::from(step)))}
                                        {(!at.is_empty()).then(|| view! { ", " <span class="code">{at}</span> })}
                                        "."
                                    </p>
                                }
                            })}
                    }
                        .into_any()
                } else {
                    view! {
                        <p class="at-peak">
                            <b>{binary(live)}</b>
                            {format!(" of temporaries{place} in use at step {}", grouped(u64::from(step)))}
                            {(!at.is_empty()).then(|| view! { ", " <span class="code">{at}</span> })}
                            "."
                        </p>
                        <ol class="makers">
                            {makers.into_iter().map(|maker| view! { <Made lab maker live /> }).collect_view()}
                        </ol>
                    }
                        .into_any()
                }}
                <button type="button" class="link small" id="all-at-peak" on:click=line_of>
                    "All that is alive at the peak"
                </button>
                {(!beside.is_empty())
                    .then(|| {
                        view! {
                            {(live > 0)
                                .then(|| {
                                    view! {
                                        <p class="small beside-temps">
                                            {format!("{} of arguments, outputs and constants are needed besides; of all memory:", binary(fixed))}
                                        </p>
                                    }
                                })}
                            <ol class="makers" id="beside-temps">
                                {beside
                                    .into_iter()
                                    .map(|maker| view! { <Made lab maker live=total /> })
                                    .collect_view()}
                            </ol>
                        }
                    })}
            </section>
            <section aria-labelledby="verdict-change">
                <h3 id="verdict-change">"What stands out, what would change it"</h3>
                <Notables lab notable=face.notable.clone() />
                {chosen
                    .can_try
                    .then(|| {
                        view! {
                            <div class="try-changes">
                                {move || match lab.advice.get() {
                                    Some(advice) => {
                                        let more = advice.changes.len().saturating_sub(FIRST);
                                        view! {
                                            {advice.gap.clone().map(|g| view! { <p class="gap">{g}</p> })}
                                            <Changes lab advice most=FIRST id="best-changes" />
                                            <button
                                                type="button"
                                                class="link small"
                                                on:click=move |_| {
                                                    lab.tab.set(Tab::Try);
                                                    if let Some(pane) = document().get_element_by_id("panes") {
                                                        pane.scroll_into_view();
                                                    }
                                                }
                                            >
                                                {if more > 0 {
                                                    format!("{} more, and what was tried", grouped(more as u64))
                                                } else {
                                                    "What was tried".to_owned()
                                                }}
                                            </button>
                                        }
                                            .into_any()
                                    }
                                    None => {
                                        view! {
                                            <button
                                                type="button"
                                                id="try-changes"
                                                disabled=move || lab.searching.get().is_some()
                                                on:click=move |_| lab.advise()
                                            >
                                                "Which single change saves most?"
                                            </button>
                                            <span class="small quiet">
                                                " Each is run and checked."
                                            </span>
                                        }
                                            .into_any()
                                    }
                                }}
                            </div>
                        }
                    })}
            </section>
        </div>
    }
    .into_any()
}

/// What the errors say by which a module was found not to fit.
#[component]
fn Failed(lab: Lab, module: u32) -> impl IntoView {
    let errors = lab.opened.with_untracked(|o| {
        let all = o.iter().flat_map(|o| &o.errors);
        all.filter(|e| e.modules.contains(&module)).cloned().collect::<Vec<_>>()
    });
    let cautions: BTreeSet<String> = errors.iter().filter_map(|e| e.caution.clone()).collect();
    view! {
        {cautions.into_iter().map(|c| view! { <p class="small">{c}</p> }).collect_view()}
        {errors.into_iter().map(|error| view! { <Message error open=false /> }).collect_view()}
    }
}

/// One group of values at the peak: a bar of its share, and the largest of them to be selected.
#[component]
fn Made(lab: Lab, maker: Maker, live: u64) -> impl IntoView {
    let many =
        if maker.count > 1 { format!("{} × ", grouped(u64::from(maker.count))) } else { String::new() };
    let row = maker.row;
    let show = move |_| {
        lab.when.set(When::Peak);
        lab.group.set(Group::Shape);
        lab.select(row);
        if let Some(map) = document().get_element_by_id("map-figure") {
            map.scroll_into_view();
        }
    };
    view! {
        <li>
            <span class="bar" aria-hidden="true">
                <span style:width=format!("{}%", share(maker.bytes, live))></span>
            </span>
            <span class="number">{binary(maker.bytes)}</span>
            <span class="number quiet">{format!("{:.0} %", share(maker.bytes, live))}</span>
            <span class="what">
                <button type="button" class="link code" on:click=show>
                    {format!("{many}{}", maker.shape)}
                </button>
                <span class="small quiet">
                    {[maker.operation, maker.line].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" · ")}
                </span>
            </span>
        </li>
    }
}

#[component]
fn Notables(lab: Lab, notable: Vec<Notable>) -> impl IntoView {
    if notable.is_empty() {
        return view! { <p class="quiet">"Nothing that would be worth a note."</p> }.into_any();
    }
    let item = move |n: Notable| {
        view! {
            <li>
                {n.words}
                {n.row
                    .map(|row| {
                        view! {
                            " "
                            <button type="button" class="link small" on:click=move |_| lab.select(row)>
                                "Show it"
                            </button>
                        }
                    })}
            </li>
        }
    };
    let mut all = notable.into_iter();
    let first: Vec<_> = all.by_ref().take(FIRST).map(item).collect();
    let rest: Vec<_> = all.map(item).collect();
    let more = rest.len();
    view! {
        <ul class="notable" id="notable">
            {first}
        </ul>
        {(more > 0)
            .then(|| {
                view! {
                    <details class="more-notable">
                        <summary>{format!("{more} more")}</summary>
                        <ul class="notable">{rest}</ul>
                    </details>
                }
            })}
    }
    .into_any()
}
