//! A question to try an engine with, in tests.

use anyhow::Result;
use clap::Args;
use sched_distill_engine::{
    ask::{Engine, Part},
    toy,
};
use std::time::Instant;

/// Asks a question about made-up numbers, to see that a cluster works.
///
/// Example: distill-engine toy --cluster df://127.0.0.1:50050
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct ToyArgs {
    /// The scheduler [default: no cluster, this process].
    #[arg(long)]
    cluster: Option<String>,
    /// Partitions of the numbers.
    #[arg(long, default_value_t = 6)]
    partitions: usize,
    /// How often to ask.
    #[arg(long, default_value_t = 5)]
    times: usize,
    /// Bytes of the question.
    #[arg(long, default_value_t = 0)]
    question: usize,
    /// Bytes of the answer.
    #[arg(long, default_value_t = 0)]
    answer: u64,
}

impl ToyArgs {
    pub(crate) async fn run(self) -> Result<()> {
        let engine = match &self.cluster {
            Some(address) => Engine::cluster(address, self.partitions)?,
            None => Engine::local(self.partitions),
        };
        let numbers: Vec<u32> = (0..12).collect();
        let parts: Vec<Part> = numbers.iter().map(|number| Part { number: *number, weight: 1 }).collect();
        let question = toy::question(self.answer, &vec![1; self.question]);
        let expected = toy::answer(&numbers, &question);
        for _ in 0..self.times {
            let start = Instant::now();
            let answer = engine.ask(&toy::Scan::default().to_bytes()?, &parts, &question).await?;
            let verdict = if answer == expected { "right" } else { "wrong" };
            println!("{verdict} answer of {} bytes in {:.3} s", answer.len(), start.elapsed().as_secs_f64());
        }
        Ok(())
    }
}
