//! The Decima forward pass against PyTorch on recorded decision points, and its checkpoint readers on the real files.

use crate::common::reference;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use sched_distill::{
    dag::network::{Decima, DecimaCheckpoint, DecimaInput, DecimaWeights},
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

    /// Embeddings and scores after an observation. What is best is compared with this point's `action` where the second best is further
    /// away than `gap`; returns how often that was so.
    fn assert_outputs(&self, decima: &mut Decima, gap: f32) -> Result<usize, Box<dyn Error>> {
        self.assert_close("h_node", decima.h_node())?;
        self.assert_close("h_dag", decima.h_dag())?;
        self.assert_close("h_glob", decima.h_glob())?;
        let action = self.u32("action")?;
        let stages = decima.stage_scores().to_vec();
        self.assert_close("stage_scores", &stages)?;
        let mut compared = 0;
        if ahead(&stages) > gap {
            let stage = greedy(&stages);
            assert_eq!((stage as u32, decima.schedulable()[stage]), (action[0], action[1]), "{}", self.name);
            compared += 1;
        }
        let amounts = decima.amount_scores(action[2] as usize);
        self.assert_close("exec_scores", amounts)?;
        if ahead(amounts) > gap {
            assert_eq!(greedy(amounts) as u32, action[3], "{}", self.name);
            compared += 1;
        }
        Ok(compared)
    }
}

/// How far the best score is above the second.
fn ahead(scores: &[f32]) -> f32 {
    let best = greedy(scores);
    let others = scores.iter().enumerate().filter(|&(i, _)| i != best);
    scores[best] - others.fold(f32::NEG_INFINITY, |most, (_, &score)| most.max(score))
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
            assert_eq!(point.assert_outputs(&mut decima, -1.0)?, 2);
        }
    }
    Ok(())
}

/// Public checkpoints with wider layers, and with batch normalisations, against a float64 network.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn checkpoints_of_other_shapes_are_reproduced() -> Result<(), Box<dyn Error>> {
    let inputs = std::fs::read(reference("decima-golden/golden-public.safetensors"))?;
    let inputs = SafeTensors::deserialize(&inputs)?;
    let outputs = std::fs::read(reference("decima-variants/golden-shapes.safetensors"))?;
    let outputs = SafeTensors::deserialize(&outputs)?;
    for (checkpoint, widths) in [("wide", [5, 128, 64, 16]), ("normed", [5, 32, 16, 16])] {
        let tensors = Tensors::load(reference(&format!("decima-variants/{checkpoint}.pt")))?;
        let found = DecimaCheckpoint::read(&tensors, checkpoint)?;
        assert_eq!(found.widths().next(), Some(("encoder.node_encoder.mlp_prep", widths.to_vec())));
        assert_eq!(found.usual(checkpoint).is_ok(), checkpoint == "normed");
        let mut decima = Decima::new(Arc::new(DecimaWeights::new(&found)));
        let mut compared = 0;
        for i in 0..60 {
            decima.embed(&Point { file: &inputs, name: &format!("p{i:03}") }.input()?)?;
            let point = Point { file: &outputs, name: &format!("{checkpoint}.p{i:03}") };
            compared += point.assert_outputs(&mut decima, 1e-4)?;
        }
        println!("{checkpoint}: {compared} of 120 choices are no near ties");
        assert!(compared > 60, "{checkpoint}: {compared}");
    }
    Ok(())
}

/// The same network under other names, and in other precisions.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn names_and_precisions_round_trip() -> Result<(), Box<dyn Error>> {
    let tensors = Tensors::load(reference("decima-variants/normed.pt"))?;
    let plain = DecimaCheckpoint::read(&tensors, "normed")?.plain();
    let file = |prefix: &str, dtype: Dtype, bytes: fn(f32) -> Vec<u8>| {
        let data = tensors.iter().map(|(name, t)| {
            let counter = t.shape.is_empty();
            let bytes = t.data.iter().flat_map(|&v| if counter { (v as i64).to_le_bytes().to_vec() } else { bytes(v) });
            (
                format!("{prefix}{name}"),
                if counter { Dtype::I64 } else { dtype },
                t.shape.clone(),
                bytes.collect::<Vec<_>>(),
            )
        });
        let data: Vec<_> = data.collect();
        let views =
            data.iter().map(|(name, dtype, shape, bytes)| Ok((name, TensorView::new(*dtype, shape.clone(), bytes)?)));
        let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
        let bytes = safetensors::serialize(views, None)?;
        DecimaCheckpoint::read(&Tensors::from_bytes(&bytes, "file")?, "file").map_err(Box::<dyn Error>::from)
    };
    let float = |v: f32| v.to_le_bytes().to_vec();
    for prefix in ["", "module.", "actor.", "policy.", "_orig_mod.", "policy.module._orig_mod."] {
        let found = file(prefix, Dtype::F32, float)?;
        assert!(found.plain().iter().eq(plain.iter()), "{prefix}");
        assert_eq!(found.notes().len(), if prefix.is_empty() { 1 } else { 2 });
    }
    let double = file("module.", Dtype::F64, |v| f64::from(v).to_le_bytes().to_vec())?;
    assert!(double.plain().iter().eq(plain.iter()));
    assert!(
        double.notes().iter().any(|note| note == "98 tensors of float64, converted to float32"),
        "{:?}",
        double.notes()
    );
    // The upper half of a float32: seven bits of fraction are left.
    let rough = file("", Dtype::BF16, |v| v.to_le_bytes()[2..].to_vec())?.plain();
    assert!(rough.iter().zip(plain.iter()).all(|((a, rough), (b, exact))| a == b && rough.shape == exact.shape));
    assert!(!rough.iter().eq(plain.iter()));
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

#[cfg(feature = "cli")]
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_program_describes_and_checks_checkpoints_of_other_shapes() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| reference(&format!("decima-variants/{name}.pt")).display().to_string();
    let said = crate::program::done(dir.path(), &["inspect", &file("wide")]);
    assert!(
        said.contains("5-128-64-16") && said.contains("53-64-64-1") && said.contains("take only the widths"),
        "{said}"
    );
    let said = crate::program::done(dir.path(), &["inspect", &file("normed")]);
    assert!(
        said.contains("size       20802 numbers") && said.contains("note: 14 batch normalisations made part"),
        "{said}"
    );
    let policy = format!("decima:{}", file("normed"));
    let check = ["check-policy", "-p", &policy, "-w", "builtin,jobs=3", "--decisions", "30"];
    assert!(crate::program::done(dir.path(), &check).contains("passed"));
}

/// A cut or changed file gives an error or tensors, never a panic; a change inside the numbers of a `.pt` is noticed.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn damaged_checkpoints_are_refused() -> Result<(), Box<dyn Error>> {
    for checkpoint in CHECKPOINTS.into_iter().chain(["decima-variants/normed.pt"]) {
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
