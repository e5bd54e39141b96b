//! The Decima forward pass against PyTorch on recorded decision points, and its checkpoint readers on the real files.

use crate::common::reference;
use safetensors::SafeTensors;
use sched_distill::{
    dag::network::{Decima, DecimaInput, DecimaWeights},
    level::first_max,
    network::{NeuralError, Tensors},
};
use std::{error::Error, sync::Arc};

const CHECKPOINTS: [&str; 2] = ["decima-model/model.pt", "decima-model/decima.safetensors"];

/// The arrays of one golden point.
struct Point<'a> {
    file: &'a SafeTensors<'a>,
    name: &'a str,
}

impl Point<'_> {
    fn bytes(&self, array: &str) -> Result<Vec<u8>, Box<dyn Error>> {
        Ok(self.file.tensor(&format!("{}.{array}", self.name))?.data().to_vec())
    }

    fn i32(&self, array: &str) -> Result<Vec<i32>, Box<dyn Error>> {
        let bytes = self.bytes(array)?;
        Ok(bytes.as_chunks().0.iter().map(|&word| i32::from_le_bytes(word)).collect())
    }

    fn u32(&self, array: &str) -> Result<Vec<u32>, Box<dyn Error>> {
        Ok(self.i32(array)?.into_iter().map(u32::try_from).collect::<Result<_, _>>()?)
    }

    fn f32(&self, array: &str) -> Result<Vec<f32>, Box<dyn Error>> {
        let bytes = self.bytes(array)?;
        Ok(bytes.as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect())
    }

    fn input(&self) -> Result<DecimaInput, Box<dyn Error>> {
        let scalars = self.u32("scalars")?;
        let (jobs, source) = (scalars[1] as usize, scalars[4] as usize);
        let ends = self.u32("edge_index")?;
        let (parents, children) = ends.split_at(ends.len() / 2);
        Ok(DecimaInput {
            num_executors: scalars[0],
            committable: scalars[3],
            source_job: (source < jobs).then_some(source),
            ptr: self.u32("ptr")?,
            edges: parents.iter().zip(children).map(|(&u, &c)| [u, c]).collect(),
            remaining: self.u32("num_remaining_tasks")?,
            most_recent_duration: self.f32("most_recent_duration")?,
            supply: self.u32("exec_supplies")?,
            stage_mask: self.bytes("stage_mask")?.into_iter().map(|on| on != 0).collect(),
        })
    }

    fn assert_close(&self, array: &str, found: &[f32]) -> Result<(), Box<dyn Error>> {
        let expected = self.f32(array)?;
        assert_eq!(found.len(), expected.len(), "{} {array}", self.name);
        for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
            assert!((a - b).abs() <= 2e-5 * (1.0 + b.abs()), "{} {array}[{i}]: {a} against {b}", self.name);
        }
        Ok(())
    }
}

fn greedy(scores: &[f32]) -> usize {
    first_max(scores.iter().map(|&score| f64::from(score)))
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn all_golden_points_are_reproduced_from_both_checkpoints() -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(reference("decima-golden/golden-public.safetensors"))?;
    let file = SafeTensors::deserialize(&bytes)?;
    let index = std::fs::read(reference("decima-golden/golden-public.index.json"))?;
    let index: serde_json::Value = serde_json::from_slice(&index)?;
    let points = index["points"].as_array().ok_or("the index lists points")?;
    assert_eq!(points.len(), 60);
    for checkpoint in CHECKPOINTS {
        let weights = DecimaWeights::from_tensors(&Tensors::load(reference(checkpoint))?, checkpoint)?;
        let mut decima = Decima::new(Arc::new(weights));
        for record in points {
            let name = record["point"].as_str().ok_or("a point has a name")?;
            let point = Point { file: &file, name };
            decima.embed(&point.input()?)?;
            assert_eq!(decima.caps(), point.u32("commit_caps")?, "{name}");
            let bits = |x: &[f32]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(decima.x()), bits(&point.f32("x")?), "{name}");
            point.assert_close("h_node", decima.h_node())?;
            point.assert_close("h_dag", decima.h_dag())?;
            point.assert_close("h_glob", decima.h_glob())?;
            let action = point.u32("action")?;
            let stages = decima.stage_scores();
            point.assert_close("stage_scores", stages)?;
            let stage = greedy(stages);
            assert_eq!((stage as u32, decima.schedulable()[stage]), (action[0], action[1]), "{name}");
            let amounts = decima.amount_scores(action[2] as usize);
            point.assert_close("exec_scores", amounts)?;
            assert_eq!(greedy(amounts) as u32, action[3], "{name}");
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn both_checkpoints_hold_the_same_tensors() -> Result<(), NeuralError> {
    let [torch, own] = CHECKPOINTS.map(|checkpoint| Tensors::load(reference(checkpoint)));
    let (torch, own) = (torch?, own?);
    assert_eq!(torch.iter().len(), 42);
    assert!(torch.iter().eq(own.iter()));
    assert_ne!(torch.sha256(), own.sha256());
    Ok(())
}

/// A cut or changed file gives an error or tensors, never a panic; a change inside the numbers of a `.pt` is noticed.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn damaged_checkpoints_are_refused() -> Result<(), Box<dyn Error>> {
    for checkpoint in CHECKPOINTS {
        let good = std::fs::read(reference(checkpoint))?;
        let cuts = (0..200).map(|i| i * good.len() / 200).chain(good.len() - 200..good.len());
        for len in cuts {
            assert!(Tensors::from_bytes(&good[..len], checkpoint).is_err(), "{checkpoint} cut to {len} bytes");
        }
        let mut file = good.clone();
        for i in 0..400 {
            // Dense over headers, pickle and directory at both ends, sparse in between.
            let at = if i < 300 { (i * 37) % 7000 } else { good.len() - 1 - (i * 53) % 5000 };
            file[at] ^= 0x41;
            let _ = Tensors::from_bytes(&file, checkpoint);
            file[at] = good[at];
        }
    }
    let mut file = std::fs::read(reference(CHECKPOINTS[0]))?;
    file[45_000] ^= 1;
    let error = Tensors::from_bytes(&file, "model.pt").err().ok_or("a changed weight is noticed")?.to_string();
    assert_eq!(error, "teacher model.pt: zip entry `model/data/32` does not match its checksum");
    Ok(())
}
