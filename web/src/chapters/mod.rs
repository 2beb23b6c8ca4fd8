//! The reading page, a file a chapter.
//!
//! A chapter's file has its `CHAPTER`: number, slug, title, question, figures, the view with the part of the page that it
//! comes in, and the posters, which are its figures as they first are, drawn by the same scenes. Posters are made natively,
//! by `examples/posters.rs`, and are a page of their own for readers without JavaScript. To add a chapter, add its file and its line
//! in [`CHAPTERS`].

pub mod c01_what_gets_decided;
pub mod c02_values_that_must_share;
pub mod c03_clock;
pub mod c04_live_ranges;
pub mod c05_until_the_sharing_breaks;
pub mod c06_the_one_exception;
pub mod c07_colour_is_a_memory_space;
pub mod c08_what_never_reaches_the_packing;
pub mod c09_biggest_first_best_fit;
pub mod c10_nine_reasons_to_say_no;
pub mod c11_the_copy_you_never_see;
pub mod c12_fragmentation;
pub mod c13_four_files_with_the_answer;
pub mod c14_two_memories;
pub mod c15_where_a_memory_space_comes_from;
pub mod c16_memory_that_many_devices_share;
pub mod c17_freeing_with_branches;
pub mod c18_copy_or_remap;
pub mod c19_questions;

use crate::scene::Scene;

/// A chapter.
#[derive(Clone, Copy)]
pub struct Chapter {
    /// Its number; 0 for what is no chapter.
    pub number: u8,
    /// Its place in the page's address: letters, digits and hyphens.
    pub slug: &'static str,
    /// A few words.
    pub title: &'static str,
    /// The question that its figure answers before anything is touched.
    pub question: &'static str,
    /// The ids of its figures, so that a link to one of them fetches this chapter and no other.
    pub figures: &'static [&'static str],
    /// Prose and figures, in a part of the page.
    #[cfg(target_arch = "wasm32")]
    pub view: fn() -> crate::parts::Fetched,
    /// Its figures as they first are.
    #[cfg(not(target_arch = "wasm32"))]
    pub posters: fn() -> Vec<Poster>,
}

/// A figure as it first is.
#[derive(Clone, PartialEq, Debug)]
pub struct Poster {
    /// The figure's id.
    pub figure: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What is seen, in a sentence or two with the engine's numbers.
    pub caption: String,
    /// The class names that the marks want around them: `timeline`, `heap`.
    pub class: &'static str,
    /// The picture, some 900 CSS pixels wide.
    pub scene: Scene,
}

/// The chapters in the order of the page.
pub const CHAPTERS: &[Chapter] = &[
    c01_what_gets_decided::CHAPTER,
    c02_values_that_must_share::CHAPTER,
    c03_clock::CHAPTER,
    c04_live_ranges::CHAPTER,
    c05_until_the_sharing_breaks::CHAPTER,
    c06_the_one_exception::CHAPTER,
    c07_colour_is_a_memory_space::CHAPTER,
    c08_what_never_reaches_the_packing::CHAPTER,
    c09_biggest_first_best_fit::CHAPTER,
    c10_nine_reasons_to_say_no::CHAPTER,
    c11_the_copy_you_never_see::CHAPTER,
    c12_fragmentation::CHAPTER,
    c13_four_files_with_the_answer::CHAPTER,
    c14_two_memories::CHAPTER,
    c15_where_a_memory_space_comes_from::CHAPTER,
    c16_memory_that_many_devices_share::CHAPTER,
    c17_freeing_with_branches::CHAPTER,
    c18_copy_or_remap::CHAPTER,
    c19_questions::CHAPTER,
];

/// The lessons, behind the chapters: no chapter, and no poster.
pub const LESSONS: Chapter = Chapter {
    number: 0,
    slug: "lessons",
    title: "Lessons",
    question: "In which order, and do I understand it?",
    figures: &["teacher"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(lessons, crate::course::desk::section),
    #[cfg(not(target_arch = "wasm32"))]
    posters: Vec::new,
};

/// What was compared with what: no chapter either.
pub const MADE: Chapter = Chapter {
    number: 0,
    slug: "how-this-was-made",
    title: "How this was made, and how far it holds",
    question: "Why should I believe it?",
    figures: &[],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(lessons, crate::made::section),
    #[cfg(not(target_arch = "wasm32"))]
    posters: Vec::new,
};

/// The text of a module that comes with the page, for posters and tests.
#[cfg(not(target_arch = "wasm32"))]
pub fn text_of(id: &str) -> String {
    let path = format!("{}/../assets/modules/{id}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("every module that is listed is there")
}

/// The chapters' questions and posters as a piece of HTML.
#[cfg(not(target_arch = "wasm32"))]
pub fn posters_html() -> String {
    use crate::scene::svg::{escaped, inline};
    use std::fmt::Write as _;
    let mut out = String::new();
    for chapter in CHAPTERS {
        _ = write!(
            out,
            "<section class=\"chapter\" id=\"{}\">\n<p class=\"chapter-number\">Chapter {}</p>\n<h2>{}</h2>\n\
             <p class=\"question\">{}</p>\n",
            chapter.slug,
            chapter.number,
            escaped(chapter.title),
            escaped(chapter.question)
        );
        for poster in (chapter.posters)() {
            _ = write!(
                out,
                "<figure class=\"poster\">\n<div class=\"{}\"><div class=\"plot\">{}</div></div>\n\
                 <figcaption><b>{}</b> {}</figcaption>\n</figure>\n",
                poster.class,
                inline(&poster.scene, &format!("{}. {}", poster.title, poster.caption)),
                escaped(poster.title),
                escaped(&poster.caption)
            );
        }
        out.push_str("</section>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::CHAPTERS;

    #[test]
    fn slugs_and_numbers_are_apart_and_in_order() {
        assert!(CHAPTERS.windows(2).all(|w| w[0].number < w[1].number));
        for (i, c) in CHAPTERS.iter().enumerate() {
            assert!(c.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            assert!(CHAPTERS[..i].iter().all(|other| other.slug != c.slug));
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[test]
    fn every_chapter_has_a_poster_that_says_something() {
        for chapter in CHAPTERS {
            let posters = (chapter.posters)();
            assert!(!posters.is_empty(), "{}", chapter.slug);
            for p in posters {
                assert!(chapter.figures.contains(&p.figure), "{} does not name {}", chapter.slug, p.figure);
                assert!(p.scene.marks.len() > 2 && p.caption.len() > 20, "{}: {:?}", p.figure, p.caption);
            }
        }
    }
}
