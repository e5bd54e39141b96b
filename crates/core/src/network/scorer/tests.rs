use super::*;
use crate::{
    level::FeatureSet,
    level::{Control, FeatureSpec, LevelSpec, Scope},
    network::{NeuralError, Tensor, Tensors},
    rng::Stream,
};
use std::{collections::BTreeMap, sync::Arc};

const SHAPE: ScorerShape = ScorerShape { width: 16, depth: 2 };

fn set() -> FeatureSet {
    let feature = |name: String| FeatureSpec {
        name,
        unit: "1".to_owned(),
        meaning: String::new(),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Measured,
    };
    let level = |name: &str, width: usize| LevelSpec {
        name: name.to_owned(),
        question: String::new(),
        candidates: String::new(),
        entities: vec![name.to_owned()],
        features: (0..width).map(|i| feature(format!("x{i}"))).collect(),
    };
    FeatureSet { scenario: "test".to_owned(), levels: vec![level("job", 5), level("amount", 3)] }
}

fn tensors(seed: u64) -> Tensors {
    let mut stream = Stream::new(seed, "weights");
    let mut entries = BTreeMap::new();
    for (name, shape) in SHAPE.tensors(&set()) {
        let draw = |_| match name.ends_with(".scale") {
            true => 0.5 + stream.uniform() as f32,
            false => 0.4 * stream.normal() as f32,
        };
        let data = (0..shape.iter().product::<usize>()).map(draw).collect();
        entries.insert(name, Tensor { shape, data });
    }
    Tensors::new(entries, SHAPE.texts(&set()))
}

fn scorer(tensors: &Tensors) -> Result<Scorer, NeuralError> {
    Ok(Scorer::new(Arc::new(ScorerWeights::from_tensors(tensors, "test")?)))
}

/// The description of the network, number by number in 64 bits: `h`, the mean of `h`, and the scores.
fn by_hand(tensors: &Tensors, level: &str, rows: &[Vec<f32>], context: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    let data = |name: &str| tensors.get(&format!("{level}.{name}")).unwrap();
    let layer = |name: &str, x: &[f64]| -> Vec<f64> {
        let (w, b) = (data(&format!("{name}.weight")), data(&format!("{name}.bias")));
        let rows = w.data.chunks(w.shape[1]).zip(&b.data);
        rows.map(|(w, &b)| f64::from(b) + w.iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum::<f64>()).collect()
    };
    let leaky = |x: Vec<f64>| x.into_iter().map(|v| if v >= 0.0 { v } else { 0.2 * v }).collect::<Vec<f64>>();
    let z = |row: &Vec<f32>| -> Vec<f64> {
        let norms = data("mean").data.iter().zip(&data("scale").data);
        let squashed = |x: f32| f64::from(x.signum()) * (1.0 + f64::from(x.abs())).ln();
        row.iter()
            .zip(norms)
            .map(|(&x, (&m, &s))| ((squashed(x) - f64::from(m)) / f64::from(s)).clamp(-8.0, 8.0))
            .collect()
    };
    let h: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| leaky(layer("embed.1", &leaky(layer("embed.0", &[&z(row)[..], context].concat())))))
        .collect();
    let mean: Vec<f64> = (0..16).map(|i| h.iter().map(|h| h[i]).sum::<f64>() / h.len() as f64).collect();
    let score = |h: &Vec<f64>| layer("score.1", &leaky(layer("score.0", &[&h[..], &mean].concat())))[0];
    let scores = h.iter().map(score).collect();
    (h, mean, scores)
}

fn draw(stream: &mut Stream, n: usize, width: usize) -> Vec<Vec<f32>> {
    // From fractions to milliseconds.
    (0..n)
        .map(|_| (0..width).map(|_| (stream.normal() * 10f64.powf(stream.uniform_in(-1.0, 6.0))) as f32).collect())
        .collect()
}

#[test]
fn it_computes_what_it_says() -> Result<(), NeuralError> {
    let mut stream = Stream::new(1, "rows");
    for seed in 0..10 {
        let tensors = tensors(seed);
        let mut scorer = scorer(&tensors)?;
        for candidates in [1, 2, 7, 30] {
            let (jobs, amounts) = (draw(&mut stream, candidates, 5), draw(&mut stream, 4, 3));
            let (h, mean, expected) = by_hand(&tensors, "job", &jobs, &[]);
            let close = |found: &[f32], expected: &[f64]| {
                assert_eq!(found.len(), expected.len());
                found.iter().zip(expected).for_each(|(a, b)| assert!((f64::from(*a) - b).abs() < 1e-4, "{a} {b}"));
            };
            close(scorer.score(0, &jobs.concat()), &expected);
            let taken = candidates / 2;
            scorer.take(0, taken);
            let (_, _, expected) = by_hand(&tensors, "amount", &amounts, &[&h[taken][..], &mean].concat());
            close(scorer.score(1, &amounts.concat()), &expected);
        }
    }
    Ok(())
}

/// Candidates in another order have the same scores in that order.
#[test]
fn order_does_not_matter() -> Result<(), NeuralError> {
    let (mut scorer, mut stream) = (scorer(&tensors(1))?, Stream::new(2, "rows"));
    let mut rows = draw(&mut stream, 9, 5);
    let before = scorer.score(0, &rows.concat()).to_vec();
    rows.reverse();
    let after = scorer.score(0, &rows.concat());
    for (a, b) in before.iter().rev().zip(after) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    assert!(before.iter().any(|v| (v - before[0]).abs() > 1e-3));
    Ok(())
}

#[test]
fn what_a_network_has_never_seen_is_kept_within_reach() -> Result<(), NeuralError> {
    let mut scorer = scorer(&tensors(3))?;
    let scores = scorer.score(0, &[f32::MAX, -f32::MAX, 0.0, 1e30, -1e-30]);
    assert!(scores[0].is_finite());
    assert!(scorer.given(0).iter().all(|z| z.abs() <= 8.0));
    Ok(())
}

#[test]
fn a_file_that_is_none_is_refused_with_a_reason() -> Result<(), NeuralError> {
    let good = tensors(1);
    let back = Tensors::from_bytes(&good.to_safetensors()?, "file")?;
    let weights = ScorerWeights::from_tensors(&back, "file")?;
    assert_eq!((weights.feature_set(), weights.shape()), (&set(), SHAPE));
    // job: 5·2, 16·5+16, 16·16+16, 16·32+16, 16+1; amount: 3·2, 16·(3+32)+16, the rest alike.
    assert_eq!(weights.numbers(), (10 + 96) + (6 + 576) + 2 * (272 + 528 + 17));
    let entries = || good.iter().map(|(name, t)| (name.to_owned(), t.clone())).collect::<BTreeMap<_, _>>();
    type Change<'a> = &'a dyn Fn(&mut BTreeMap<String, Tensor>, &mut serde_json::Value);
    let reason = |change: Change<'_>| {
        let mut entries = entries();
        let mut header: serde_json::Value = serde_json::from_str(&SHAPE.texts(&set())["scorer"]).unwrap();
        change(&mut entries, &mut header);
        let texts = [("scorer".to_owned(), header.to_string())].into();
        ScorerWeights::from_tensors(&Tensors::new(entries, texts), "file").unwrap_err().to_string()
    };
    let silent = ScorerWeights::from_tensors(&Tensors::new(entries(), BTreeMap::new()), "file").unwrap_err();
    assert!(silent.to_string().contains("not a checkpoint of `distill train scorer`"));
    assert!(reason(&|_, h| h["version"] = 9.into()).contains("a scorer of version 9; this program reads 1"));
    assert!(reason(&|_, h| h["feature_set"] = "{".into()).contains("its header is damaged"));
    assert!(reason(&|_, h| h["feature_set_hash"] = "00".into()).contains("is not the one that it names"));
    assert!(reason(&|_, h| h["more"] = 1.into()).contains("unknown field `more`"));
    assert!(
        reason(&|_, h| {
            let mut empty = set();
            empty.levels[0].features.clear();
            *h = serde_json::from_str(&SHAPE.texts(&empty)["scorer"]).unwrap();
        })
        .contains("or one without features")
    );
    assert!(reason(&|_, h| h["width"] = 17.into()).contains("neurons come in multiples of 16"));
    assert!(reason(&|_, h| h["depth"] = 0.into()).contains("1 to 8 layers"));
    assert!(reason(&|_, h| h["depth"] = "many".into()).contains("its header is damaged"));
    assert!(reason(&|_, h| h["depth"] = 3.into()).contains("`job.embed.2.weight` of shape [16, 16] is missing"));
    assert!(reason(&|e, _| drop(e.remove("amount.mean"))).contains("`amount.mean`"));
    assert!(reason(&|e, _| e.get_mut("job.scale").unwrap().data[2] = 0.0).contains("`job.scale` holds 0 at index 2"));
    assert!(reason(&|e, _| e.get_mut("job.mean").unwrap().data[0] = f32::NAN).contains("weights must be finite"));
    // The same network has the same bytes.
    assert_eq!(good.to_safetensors()?, tensors(1).to_safetensors()?);
    Ok(())
}
