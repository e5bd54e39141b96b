//! The network against its plain form, and against itself.

#[path = "../../../../tests/support/decima_input.rs"]
mod decima_input;

use super::{
    checkpoint::tests::odd,
    plain::{Plain, Rows, sum, wide},
    weights::tests::random,
    *,
};
use decima_input::observation;
use sched_distill_core::{network::Tensors, rng::Stream};
use std::collections::BTreeMap;

/// Largest `|a - b| / (1 + |b|)`.
fn deviation(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(&a, b)| (f64::from(a) - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max)
}

fn evaluator(tensors: &Tensors) -> Result<Decima, NeuralError> {
    Ok(Decima::new(Arc::new(DecimaWeights::from_tensors(tensors, "random")?)))
}

/// Rows without the places that only fill them up, which hold 0.
fn rows(values: &[f32], places: usize, width: usize) -> Vec<f32> {
    assert!(values.chunks(places).all(|row| row[width..].iter().all(|&v| v == 0.0)));
    values.chunks(places).flat_map(|row| &row[..width]).copied().collect()
}

/// The largest deviation of any output from the plain network on random observations, and of the node embeddings from those by the
/// rule of the textbook.
fn deviations(tensors: &Tensors) -> Result<(f64, f64), NeuralError> {
    let (mut decima, plain) = (evaluator(tensors)?, Plain(tensors));
    let widths: Vec<Vec<usize>> = DecimaCheckpoint::read(tensors, "random")?.widths().map(|(_, w)| w).collect();
    let own = [0, 3, 4].map(|block| *widths[block].last().unwrap());
    let places = decima.widths();
    let (mut worst, mut textbook) = (0.0f64, 0.0f64);
    for seed in 0..60 {
        let input = observation(seed, 1 + seed as usize % 5, 9, [0.0, 0.2, 0.5, 0.9][seed as usize % 4]);
        decima.embed(&input)?;
        let x = wide(&decima.x, FEATURES);
        let h = plain.nodes(&x, &input.edges, true);
        let found = rows(&decima.h, places[0], own[0]);
        worst = worst.max(deviation(&found, &h.concat()));
        textbook = textbook.max(deviation(&found, &plain.nodes(&x, &input.edges, false).concat()));

        let per_node: Rows =
            x.iter().zip(&h).map(|(x, h)| plain.leaky("dag_encoder.mlp", &[&x[..], h].concat())).collect();
        let nodes = |j: usize| input.ptr[j] as usize..input.ptr[j + 1] as usize;
        let dag: Rows = (0..input.supply.len()).map(|j| sum(&per_node[nodes(j)].to_vec())).collect();
        let global = sum(&dag.iter().map(|h| plain.leaky("global_encoder.mlp", h)).collect());
        worst = worst.max(deviation(&rows(&decima.h_dag, places[1], own[1]), &dag.concat()));
        worst = worst.max(deviation(&rows(&decima.h_glob, places[2], own[2]), &global));

        let (mut stage, mut amounts) = (Vec::new(), Vec::new());
        for (j, h_dag) in dag.iter().enumerate() {
            for v in nodes(j).filter(|&v| input.stage_mask[v]) {
                let row = [&x[v][..], &h[v], h_dag, &global].concat();
                stage.extend(plain.mlp("stage_policy_network.mlp_score", f64::tanh, &row));
            }
            amounts.push(
                (0..decima.caps[j])
                    .flat_map(|k| {
                        let row = [&x[nodes(j).start][..3], h_dag, &global, &[f64::from(k) / 50.0]].concat();
                        plain.mlp("exec_policy_network.mlp_score", f64::tanh, &row)
                    })
                    .collect::<Vec<_>>(),
            );
        }
        worst = worst.max(deviation(decima.stage_scores(), &stage));
        for (j, amounts) in amounts.iter().enumerate() {
            worst = worst.max(deviation(decima.amount_scores(j), amounts));
        }
    }
    Ok((worst, textbook))
}

#[test]
fn all_outputs_equal_the_plain_network_on_random_dags() -> Result<(), NeuralError> {
    let (worst, textbook) = deviations(&random(3))?;
    assert!(worst < 1e-5, "{worst}");
    // The comparison can tell the two rules apart.
    assert!(textbook > 1e-2, "{textbook}");
    Ok(())
}

/// Widths of 1, 7 and 96, none to three hidden layers, normalised and not.
#[test]
fn networks_of_odd_widths_equal_the_plain_network() -> Result<(), NeuralError> {
    for seed in 0..3 {
        let tensors = Tensors::new(odd(seed), BTreeMap::new());
        let (worst, textbook) = deviations(&tensors)?;
        assert!(worst < 2e-5, "{worst}");
        assert!(textbook > 1e-2, "{textbook}");
        // What is written out without normalisations is the same network.
        let read = DecimaCheckpoint::read(&tensors, "odd")?;
        assert_eq!(read.widths().map(|(_, widths)| widths).collect::<Vec<_>>()[2], [7, 96, 1, 7, 7]);
        assert!(read.plain().iter().all(|(name, _)| !name.contains("running")));
        let (worst, _) = deviations(&read.plain())?;
        assert!(worst < 2e-5, "{worst}");
    }
    Ok(())
}

#[test]
fn one_edge_anywhere_changes_the_embedding_of_an_isolated_stage() -> Result<(), NeuralError> {
    let tensors = random(4);
    let mut decima = evaluator(&tensors)?;
    let mut input = DecimaInput {
        num_executors: 10,
        committable: 3,
        source_job: None,
        ptr: vec![0, 1, 3],
        edges: Vec::new(),
        remaining: vec![40, 50, 60],
        most_recent_duration: vec![1000.0; 3],
        supply: vec![0, 0],
        stage_mask: vec![true; 3],
    };
    decima.embed(&input)?;
    let (plain, x) = (Plain(&tensors), wide(&decima.x, FEATURES));
    let prepared = plain.leaky("node_encoder.mlp_prep", &x[0]);
    assert!(deviation(&decima.h[..WIDTH], &prepared) < 1e-5);
    input.edges.push([1, 2]);
    decima.embed(&input)?;
    let updated = plain.leaky("node_encoder.mlp_update", &prepared);
    assert!(deviation(&decima.h[..WIDTH], &updated) < 1e-5);
    assert!(deviation(&decima.h[..WIDTH], &prepared) > 1e-2);
    Ok(())
}

fn everything(decima: &mut Decima, input: &DecimaInput) -> Result<Vec<u32>, NeuralError> {
    decima.embed(input)?;
    let mut all = [decima.x(), decima.h_node(), decima.h_dag(), decima.h_glob()].concat();
    all.extend_from_slice(decima.stage_scores());
    for j in 0..input.supply.len() {
        all.extend_from_slice(decima.amount_scores(j));
    }
    Ok(all.into_iter().map(f32::to_bits).collect())
}

#[test]
fn instructions_and_earlier_observations_change_no_bit() -> Result<(), NeuralError> {
    let tensors = random(5);
    let mut used = evaluator(&tensors)?;
    for seed in 0..20 {
        let input = observation(seed, 6, 12, 0.3);
        let mut portable = evaluator(&tensors)?;
        portable.kernel = Kernel::PORTABLE;
        assert_eq!(everything(&mut used, &input)?, everything(&mut portable, &input)?);
    }
    Ok(())
}

#[test]
fn a_refused_observation_leaves_an_empty_and_usable_evaluator() -> Result<(), NeuralError> {
    let mut decima = evaluator(&random(6))?;
    let good = observation(1, 3, 5, 0.5);
    let before = everything(&mut decima, &good)?;
    // A cycle in the last job, behind jobs that the memo knows and a new one.
    let mut cyclic = good.clone();
    let first = cyclic.remaining.len() as u32;
    cyclic.remaining[0] += 1;
    cyclic.edges.extend([[first, first + 1], [first + 1, first + 2], [first + 2, first + 1]]);
    cyclic.remaining.extend([1, 2, 3]);
    cyclic.most_recent_duration.extend([1.0; 3]);
    cyclic.stage_mask.extend([true; 3]);
    cyclic.ptr.push(first + 3);
    cyclic.supply.push(0);
    let error = decima.embed(&cyclic).map_err(|e| e.to_string());
    assert_eq!(
        error,
        Err(format!("decima input: node {} is on or below a cycle; a job's stages must form a DAG", first + 1))
    );
    let mut huge = good.clone();
    huge.most_recent_duration[0] = f32::MAX;
    for bad in [cyclic, huge] {
        assert!(decima.embed(&bad).is_err());
        assert!(decima.caps().is_empty() && decima.h_dag().is_empty() && decima.stage_scores().is_empty());
    }
    assert_eq!(everything(&mut decima, &good)?, before);
    let mut idle = DecimaInput::default();
    (idle.num_executors, idle.ptr) = (5, vec![0]);
    decima.embed(&idle)?;
    assert!(decima.h_glob().iter().all(|&v| v == 0.0) && decima.stage_scores().is_empty());
    Ok(())
}
