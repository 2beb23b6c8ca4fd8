//! Tables of buffers: `id,lower,upper,size`, a line for each. A buffer lives from `lower` on, and no more at `upper`.

use crate::Failure;
use packing::optimum::Item;
use std::collections::HashMap;
use std::path::Path;

/// What stands in a table.
pub(crate) struct Table {
    /// As they are written; no two are the same.
    pub(crate) ids: Vec<String>,
    /// In the same order.
    pub(crate) items: Vec<Item>,
    /// The line of each.
    pub(crate) lines: Vec<usize>,
}

const COLUMNS: [&str; 4] = ["id", "lower", "upper", "size"];

/// Is it such a table? By its name, or by what its first line names.
pub(crate) fn is_table(path: &Path, bytes: &[u8]) -> bool {
    let name = path.to_string_lossy();
    if name.ends_with(".csv") || name.ends_with(".csv.gz") {
        return true;
    }
    let first = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(&first[..first.len().min(1000)]).into_owned();
    let names: Vec<&str> = first.split(',').map(|n| n.trim().trim_matches(['"', '\u{feff}'])).collect();
    COLUMNS.iter().all(|c| names.contains(c))
}

/// A field, and its column, counted from 1 in characters.
struct Field {
    text: String,
    column: usize,
}

/// Splits a line at its commas. A field in quotation marks may have commas in it, and quotation marks when doubled.
fn fields(line: &str) -> Result<Vec<Field>, (usize, &'static str)> {
    let mut out = Vec::new();
    let mut chars = line.chars().enumerate().peekable();
    loop {
        while chars.next_if(|(_, c)| *c == ' ' || *c == '\t').is_some() {}
        let column = chars.peek().map_or(line.chars().count(), |(at, _)| *at) + 1;
        let mut text = String::new();
        if chars.next_if(|(_, c)| *c == '"').is_some() {
            loop {
                match chars.next() {
                    Some((_, '"')) if chars.next_if(|(_, c)| *c == '"').is_some() => text.push('"'),
                    Some((_, '"')) => break,
                    Some((_, c)) => text.push(c),
                    None => return Err((column, "a quotation mark that is not closed, expected another")),
                }
            }
            while chars.next_if(|(_, c)| *c == ' ' || *c == '\t').is_some() {}
            if let Some((at, _)) = chars.next_if(|(_, c)| *c != ',') {
                return Err((at + 1, "text behind a quotation mark, expected a comma"));
            }
        } else {
            while let Some((_, c)) = chars.next_if(|(_, c)| *c != ',') {
                text.push(c);
            }
            text.truncate(text.trim_end().len());
        }
        out.push(Field { text, column });
        if chars.next().is_none() {
            return Ok(out);
        }
    }
}

/// Reads a table; the columns may be in any order.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Table, Failure> {
    let fail = |line: usize, column: usize, what: String| {
        Failure(format!("{}:{line}:{column}: {what}", path.display()))
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(e) => {
            let before = String::from_utf8_lossy(&bytes[..e.valid_up_to()]).into_owned();
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            return Err(fail(line, column, "bytes that are no text, expected UTF-8".to_owned()));
        }
    };
    let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, l)).filter(|(_, l)| !l.trim().is_empty());
    let Some((number, header)) = lines.next() else {
        return Err(fail(1, 1, "nothing, expected a line id,lower,upper,size".to_owned()));
    };
    let split = |number: usize, line: &str| {
        fields(line).map_err(|(column, what)| fail(number, column, what.to_owned()))
    };
    let header = split(number, header)?;
    let mut at = [usize::MAX; 4];
    for (k, field) in header.iter().enumerate() {
        match COLUMNS.iter().position(|c| *c == field.text) {
            Some(c) if at[c] == usize::MAX => at[c] = k,
            Some(_) => {
                return Err(fail(
                    number,
                    field.column,
                    format!("`{}` a second time, expected it once", field.text),
                ));
            }
            None => {
                return Err(fail(
                    number,
                    field.column,
                    format!("a column `{}`, expected id, lower, upper and size", field.text),
                ));
            }
        }
    }
    if let Some(c) = at.iter().position(|k| *k == usize::MAX) {
        let column = header.last().map_or(1, |f| f.column);
        return Err(fail(
            number,
            column,
            format!("no column {}, expected id, lower, upper and size", COLUMNS[c]),
        ));
    }
    let mut table = Table { ids: Vec::new(), items: Vec::new(), lines: Vec::new() };
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (number, line) in lines {
        let row = split(number, line)?;
        if row.len() != header.len() {
            let column = row.get(header.len()).or(row.last()).map_or(1, |f| f.column);
            return Err(fail(number, column, format!("{} fields, expected {}", row.len(), header.len())));
        }
        let [id, lower, upper, size] = at.map(|k| &row[k]);
        let value = |field: &Field, what: &str| {
            field.text.parse::<u64>().map_err(|_| {
                fail(
                    number,
                    field.column,
                    format!("`{}`, expected {what}: a whole number below 2^64", field.text),
                )
            })
        };
        let run =
            value(lower, "the time at which it begins")?..value(upper, "the time at which it has ended")?;
        if run.is_empty() {
            return Err(fail(
                number,
                upper.column,
                format!("`{}`, expected more than the lower end, {}", upper.text, lower.text),
            ));
        }
        if let Some(first) = seen.insert(id.text.clone(), number) {
            return Err(fail(
                number,
                id.column,
                format!("`{}`, expected another id than in line {first}", id.text),
            ));
        }
        table.ids.push(id.text.clone());
        table.lines.push(number);
        table.items.push(Item::new(value(size, "the size in bytes")?, run));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Table, String> {
        read(Path::new("t.csv"), text.as_bytes()).map_err(|Failure(text)| text)
    }

    #[test]
    fn columns_stand_in_any_order_and_ids_are_any_text() {
        let table =
            read_text("size, upper ,lower,id\r\n4,2,0,a\r\n\r\n7,5,1,\"b, \"\"c\"\"\"\r\n").expect("a table");
        assert_eq!(table.ids, ["a", "b, \"c\""]);
        assert_eq!(table.items, [Item::new(4, 0..2), Item::new(7, 1..5)]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = read_text(text).err().unwrap_or_default();
            assert_eq!(error, format!("t.csv:{expected}"), "{text:?}");
        };
        check("", "1:1: nothing, expected a line id,lower,upper,size");
        check("id,lower,upper\n", "1:10: no column size, expected id, lower, upper and size");
        check("id,lower,upper,size,colour\n", "1:21: a column `colour`, expected id, lower, upper and size");
        check("id,id,upper,size\n", "1:4: `id` a second time, expected it once");
        let table = |rows: &str| format!("id,lower,upper,size\na,0,2,4\n{rows}\n");
        check(&table("b,1,1,4"), "3:5: `1`, expected more than the lower end, 1");
        check(
            &table("b,-1,1,4"),
            "3:3: `-1`, expected the time at which it begins: a whole number below 2^64",
        );
        check(&table("b,1,2,4.5"), "3:7: `4.5`, expected the size in bytes: a whole number below 2^64");
        check(&table("b,1,2"), "3:5: 3 fields, expected 4");
        check(&table("b,1,2,3,4"), "3:9: 5 fields, expected 4");
        check(&table("a,1,2,3"), "3:1: `a`, expected another id than in line 2");
        check(&table("\"a,1,2,3"), "3:1: a quotation mark that is not closed, expected another");
        check(&table("\"a\"b,1,2,3"), "3:4: text behind a quotation mark, expected a comma");
    }
}
