//! Writes the synthetic data of tests and benches as NumPy files, so that other tools can be compared on them.
//!
//! ```text
//! cargo run --release --example synthetic_data -- DIR [NAME=ROWS ...]
//! ```
//!
//! For each name: `NAME_X.npy` (f32, rows × 24), `NAME_y.npy` (class, i64), `NAME_yreg.npy` and `NAME_w.npy` (f64).
//! Default: `100k=100000 1m=1000000 test100k=100000`. A name that starts with `test` has rows of another seed.

#[path = "../tests/support/synthetic.rs"]
mod synthetic;

use std::{fs, io, path::Path};
use synthetic::{WIDTH, synthetic};

fn write(path: &Path, kind: &str, shape: &str, bytes: Vec<u8>) -> io::Result<()> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    // Magic, version and length take ten bytes; the data begin at a multiple of 64.
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    fs::write(path, file)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("usage: synthetic_data DIR [NAME=ROWS ...]")?;
    let mut sets: Vec<String> = args.collect();
    if sets.is_empty() {
        sets = ["100k=100000", "1m=1000000", "test100k=100000"].map(str::to_owned).to_vec();
    }
    fs::create_dir_all(&dir)?;
    for set in &sets {
        let (name, rows) = set.split_once('=').ok_or_else(|| format!("`{set}`: expected NAME=ROWS"))?;
        let rows: usize = rows.parse().map_err(|e| format!("`{set}`: {e}"))?;
        let data = synthetic(rows, if name.starts_with("test") { 2 } else { 1 });
        let path = |what: &str| Path::new(&dir).join(format!("{name}_{what}.npy"));
        let column = |v: &[f64]| v.iter().flat_map(|v| v.to_le_bytes()).collect();
        let x = data.x.iter().flat_map(|v| v.to_le_bytes()).collect();
        write(&path("X"), "<f4", &format!("{rows}, {WIDTH}"), x)?;
        let class = data.class.iter().flat_map(|&c| i64::from(c).to_le_bytes()).collect();
        write(&path("y"), "<i8", &format!("{rows},"), class)?;
        write(&path("yreg"), "<f8", &format!("{rows},"), column(&data.y))?;
        write(&path("w"), "<f8", &format!("{rows},"), column(&data.weight))?;
        println!("{name}: {rows} rows");
    }
    Ok(())
}
