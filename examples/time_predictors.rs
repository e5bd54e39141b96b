//! Times a loaded tree for `scripts/time_predictors.py`, and exports it for the others.
//!
//! ```text
//! cargo run --release --no-default-features --example time_predictors -- export STUDENT DIR
//! cargo run --release --no-default-features --example time_predictors -- time tree|one|outputs|rows STUDENT ROWS LABELS PASSES
//! ```
//!
//! `export` writes the student's only level as `student.c` and `student.rs`. `time` reads rows of 32-bit floats, prints
//! nanoseconds of thread CPU time per row for each pass, and writes the classes found as 32-bit integers.

use sched_distill::model::{
    CompiledTree, Model, Student, Tree,
    export::{Target, export, parts},
};
use std::{error::Error, fs, hint::black_box, path::Path};

/// Thread CPU time in nanoseconds.
fn now() -> f64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const THREAD_CPU_TIME: i32 = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: on 64-bit Linux this is the function's signature and the layout of its argument, which outlives the call.
    unsafe { clock_gettime(THREAD_CPU_TIME, &raw mut time) };
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["export", student, dir] => {
            let student = Student::load(Path::new(student))?;
            for target in [Target::C, Target::Rust] {
                let text = export(&student, &parts(&student, None, None)?, target)?;
                fs::write(Path::new(dir).join("student").with_extension(target.extension()), text)?;
            }
            Ok(())
        }
        ["time", how, student, rows, labels, passes] => {
            let student = Student::load(Path::new(student))?;
            let Model::Tree(tree) = &parts(&student, None, None)?[0].named.model else {
                return Err("the first level's model is no tree".into());
            };
            let rows = fs::read(rows)?;
            let rows: Vec<f32> = rows.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            let found = time(tree, &rows, passes.parse()?, how)?;
            fs::write(labels, found.iter().flat_map(|c| c.to_le_bytes()).collect::<Vec<u8>>())?;
            Ok(())
        }
        _ => Err("usage: see the top of examples/time_predictors.rs".into()),
    }
}

fn time(tree: &Tree, x: &[f32], passes: usize, how: &str) -> Result<Vec<u32>, Box<dyn Error>> {
    const WIDTH: usize = 24;
    let fast = CompiledTree::new(tree);
    let mut classes = vec![0; x.len() / WIDTH];
    for _ in 0..passes {
        let start = now();
        match how {
            "tree" => {
                for (row, class) in x.chunks_exact(WIDTH).zip(&mut classes) {
                    *class = tree.predict_class(row) as u32;
                }
            }
            "one" => {
                for (row, class) in x.chunks_exact(WIDTH).zip(&mut classes) {
                    *class = fast.predict_class(row) as u32;
                }
            }
            "outputs" => {
                for (row, class) in x.chunks_exact(WIDTH).zip(&mut classes) {
                    let leaf = fast.apply(row);
                    black_box(fast.leaf_outputs(leaf));
                    *class = fast.leaf_class(leaf) as u32;
                }
            }
            "rows" => fast.predict_class_rows(x, WIDTH, &mut classes),
            _ => return Err(format!("`{how}`: expected tree, one, outputs or rows").into()),
        }
        println!("{:.3}", (now() - start) / classes.len() as f64);
    }
    Ok(classes)
}
