//! A table, written as JSONL and as CSV at once.

use std::io::{self, Write};

/// What stands in one column of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    /// Nothing is known, which is not the same as an empty text.
    Null,
    Text(&'a str),
    Whole(i128),
    Real(f64),
    Bool(bool),
}

impl<'a> Cell<'a> {
    pub(super) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    pub(super) fn whole(number: Option<impl Into<i128>>) -> Self {
        number.map_or(Self::Null, |number| Self::Whole(number.into()))
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Whole(i128::try_from(count).unwrap_or(i128::MAX))
    }

    pub(super) fn real(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Real)
    }

    pub(super) fn bool(value: Option<bool>) -> Self {
        value.map_or(Self::Null, Self::Bool)
    }

    fn write_json(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Null => out.write_all(b"null"),
            Self::Text(text) => Ok(serde_json::to_writer(out, text)?),
            Self::Whole(number) => write!(out, "{number}"),
            Self::Real(number) => Ok(serde_json::to_writer(out, &number)?),
            Self::Bool(value) => write!(out, "{value}"),
        }
    }

    /// Texts are always quoted and nothing else is: a reader that looks at quotes sees an empty text
    /// where there is one, and the text `12` for what it is. Packages for CSV write both alike.
    fn write_csv(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Null => Ok(()),
            Self::Text(text) => {
                out.write_all(b"\"")?;
                for (at, part) in text.split('"').enumerate() {
                    if at > 0 {
                        out.write_all(b"\"\"")?;
                    }
                    out.write_all(part.as_bytes())?;
                }
                out.write_all(b"\"")
            }
            number => number.write_json(out),
        }
    }
}

/// One table in both forms.
#[derive(Debug)]
pub(super) struct Table<W, const N: usize> {
    columns: [&'static str; N],
    jsonl: W,
    csv: W,
    /// Rows that were written.
    pub(super) rows: u64,
}

impl<W: Write, const N: usize> Table<W, N> {
    /// A table without rows; the CSV has its heading at once.
    pub(super) fn new(columns: [&'static str; N], jsonl: W, mut csv: W) -> io::Result<Self> {
        writeln!(csv, "{}", columns.join(","))?;
        Ok(Self { columns, jsonl, csv, rows: 0 })
    }

    pub(super) fn row(&mut self, cells: [Cell<'_>; N]) -> io::Result<()> {
        for (at, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            write!(self.jsonl, "{}\"{column}\":", if at == 0 { '{' } else { ',' })?;
            cell.write_json(&mut self.jsonl)?;
            if at > 0 {
                self.csv.write_all(b",")?;
            }
            cell.write_csv(&mut self.csv)?;
        }
        self.jsonl.write_all(b"}\n")?;
        self.csv.write_all(b"\n")?;
        self.rows += 1;
        Ok(())
    }

    /// The files, JSONL first.
    pub(super) fn into_inner(self) -> [W; 2] {
        [self.jsonl, self.csv]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_an_empty_text_are_told_apart() {
        let mut table = Table::new(["a", "b", "c", "d"], Vec::new(), Vec::new()).unwrap();
        let text = "say \"hi\",\r\n\0=1+1 😀";
        table.row([Cell::Null, Cell::Text(""), Cell::Text(text), Cell::Bool(true)]).unwrap();
        table
            .row([Cell::Whole(u64::MAX.into()), Cell::Real(0.5), Cell::Text("12"), Cell::Null])
            .unwrap();
        assert_eq!(table.rows, 2);
        let [jsonl, csv] = table.into_inner().map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(
            jsonl,
            concat!(
                r#"{"a":null,"b":"","c":"say \"hi\",\r\n\u0000=1+1 😀","d":true}"#,
                "\n",
                r#"{"a":18446744073709551615,"b":0.5,"c":"12","d":null}"#,
                "\n"
            )
        );
        let expected = concat!(
            "a,b,c,d\n,\"\",\"say \"\"hi\"\",\r\n\0=1+1 😀\",true\n",
            "18446744073709551615,0.5,\"12\",\n"
        );
        assert_eq!(csv, expected);
    }
}
