//! What is taken from a file, and what is refused by name.

use super::{super::weights::tests::random, *};
use sched_distill_core::rng::Stream;

type File = BTreeMap<String, Tensor>;

/// Outputs of each layer, and whether it is normalised.
const ODD: [&[(usize, bool)]; 7] = [
    &[(7, true), (96, false), (7, false)],
    &[(1, false), (7, false)],
    &[(96, true), (1, true), (7, false), (7, false)],
    &[(96, false), (1, true)],
    &[(96, false)],
    &[(96, true), (7, false), (1, false)],
    &[(1, false), (96, true), (1, false)],
];

/// A network of these widths with random weights.
pub(in crate::network) fn odd(seed: u64) -> File {
    let [node, job, cluster] = [0, 3, 4].map(|block: usize| ODD[block].last().unwrap().0);
    let inputs = [5, node, node, 5 + node, job, 5 + node + job + cluster, 3 + job + cluster + 1];
    let (mut stream, mut file) = (Stream::new(seed, "odd"), File::new());
    for (((block, _), layers), mut inputs) in BLOCKS.iter().zip(ODD).zip(inputs) {
        let mut number = 0;
        for &(outputs, normed) in layers {
            let mut add = |module: usize, what: &str, shape: Vec<usize>, draw: &mut dyn FnMut() -> f64| {
                let data = (0..shape.iter().product()).map(|_| draw() as f32).collect();
                file.insert(format!("{block}.{module}.{what}"), Tensor { shape, data });
            };
            let scale = 1.0 / (inputs as f64).sqrt();
            add(number, "weight", vec![outputs, inputs], &mut || scale * stream.normal());
            if !normed || outputs != 96 {
                add(number, "bias", vec![outputs], &mut || stream.normal());
            }
            if normed {
                number += 1;
                add(number, "weight", vec![outputs], &mut || stream.normal());
                add(number, "bias", vec![outputs], &mut || stream.normal());
                add(number, "running_mean", vec![outputs], &mut || stream.normal());
                add(number, "running_var", vec![outputs], &mut || stream.uniform_in(0.5, 3.0));
                add(number, "num_batches_tracked", Vec::new(), &mut || 320.0);
            }
            (inputs, number) = (outputs, number + 2);
        }
    }
    file
}

fn read(file: File) -> Result<DecimaCheckpoint, String> {
    DecimaCheckpoint::read(&Tensors::new(file, BTreeMap::new()), "t.pt").map_err(|e| e.to_string())
}

fn refusal(mut file: File, change: impl FnOnce(&mut File)) -> String {
    change(&mut file);
    read(file).map(|_| ()).unwrap_err()
}

fn usual() -> File {
    random(1).iter().map(|(name, tensor)| (name.to_owned(), tensor.clone())).collect()
}

#[test]
fn whatever_is_missing_turned_or_not_finite_is_named() {
    assert_eq!(read(odd(1)).unwrap().notes().len(), 1);
    for file in [usual(), odd(1)] {
        for name in file.keys() {
            let (module, what) = name.rsplit_once('.').unwrap();
            let (block, number) = module.rsplit_once('.').unwrap();
            let norm = format!("{block}.{}.running_mean", number.parse::<usize>().unwrap() + 1);
            if what == "num_batches_tracked" || (what == "bias" && file.contains_key(&norm)) {
                continue;
            }
            let error = refusal(file.clone(), |file| drop(file.remove(name)));
            assert!(error.contains(module) && error.ends_with(OTHERS), "{name} gone: {error}");
            let error = refusal(file.clone(), |file| file.get_mut(name).unwrap().data[0] = f32::NAN);
            assert_eq!(error, format!("teacher t.pt: tensor `{name}` holds NaN at index 0; weights must be finite"));
            let error = refusal(file.clone(), |file| {
                let tensor = file.get_mut(name).unwrap();
                tensor.shape.push(2);
                tensor.data.extend_from_within(..);
            });
            assert!(error.contains(&format!("`{name}` has shape")), "{name}: {error}");
            let other = file[name].clone();
            let error = refusal(file.clone(), |file| drop(file.insert(format!("{module}.scale"), other)));
            assert!(error.contains(&format!("`{module}.scale` of shape")), "{name}: {error}");
        }
    }
}

#[test]
fn what_is_refused_says_what_is_allowed() {
    let said = |change: &dyn Fn(&mut File), expected: &str| {
        let error = refusal(usual(), change);
        assert_eq!(error, format!("teacher t.pt: {expected}; {OTHERS}"));
    };
    let row = |n: usize| Tensor { shape: vec![n], data: vec![0.5; n] };
    let first = "encoder.node_encoder.mlp_prep.0.weight";
    said(
        &|file| drop(file.insert(first.to_owned(), Tensor { shape: vec![32, 7], data: vec![0.5; 224] })),
        "tensor `encoder.node_encoder.mlp_prep.0.weight` has shape [32, 7], expected [outputs, 5]: 5 features a node are the contract",
    );
    said(
        &|file| file.clear(),
        "tensor `encoder.node_encoder.mlp_prep.0.weight` is missing; is this a checkpoint of Decima's network?",
    );
    said(
        &|file| drop(file.insert("critic.0.weight".to_owned(), row(3))),
        "tensor `critic.0.weight` of shape [3] is not part of Decima's network",
    );
    // One number, two ways to write it.
    said(
        &|file| drop(file.insert("encoder.node_encoder.mlp_prep.00.weight".to_owned(), row(3))),
        "tensor `encoder.node_encoder.mlp_prep.00.weight` of shape [3] is not part of Decima's network",
    );
    // A layer's normalisation has no running statistics.
    said(
        &|file| drop(file.insert("encoder.dag_encoder.mlp.1.weight".to_owned(), row(32))),
        "`encoder.dag_encoder.mlp.1` stands between a layer and its activation, where only a batch normalisation with running \
         statistics may",
    );
    said(
        &|file| {
            for what in ["running_mean", "running_var"] {
                file.insert(format!("encoder.dag_encoder.mlp.3.{what}"), row(16));
                file.insert(format!("encoder.dag_encoder.mlp.1.{what}"), row(32));
            }
        },
        "`encoder.dag_encoder.mlp.2` stands between a layer and its activation, where only a batch normalisation with running \
         statistics may",
    );
    said(
        &|file| {
            for what in ["weight", "bias"] {
                file.remove(&format!("encoder.dag_encoder.mlp.2.{what}"));
            }
        },
        "tensor `encoder.dag_encoder.mlp.2.weight` is missing: a layer, its batch normalisation if any and its activation are \
         numbered one after the other, and `encoder.dag_encoder.mlp.4` comes next",
    );
    said(
        &|file| drop(file.insert("encoder.dag_encoder.mlp.5.running_var".to_owned(), row(16))),
        "tensor `encoder.dag_encoder.mlp.5.running_mean` of shape [16] is missing",
    );
    said(
        &|file| drop(file.insert("encoder.dag_encoder.mlp.6.running_var".to_owned(), row(16))),
        "`encoder.dag_encoder.mlp.6` is a normalisation that does not follow a layer directly",
    );
    said(
        &|file| {
            file.retain(|name, _| !name.starts_with("stage_policy_network.mlp_score."));
            file.insert(
                "stage_policy_network.mlp_score.0.weight".to_owned(),
                Tensor { shape: vec![1, 53], data: vec![0.5; 53] },
            );
            file.insert("stage_policy_network.mlp_score.0.bias".to_owned(), row(1));
        },
        "`stage_policy_network.mlp_score` has 1 layers, expected at least 2",
    );
    let error = refusal(odd(1), |file| {
        let var = file.get_mut("encoder.node_encoder.mlp_prep.1.running_var").unwrap();
        var.data[2] = -0.25;
    });
    assert!(error.contains("mlp_prep.1.running_var` holds -0.25 at index 2; a variance is at least 0"), "{error}");
    let error = refusal(odd(1), |file| {
        file.get_mut("encoder.node_encoder.mlp_prep.1.weight").unwrap().data.fill(3e38);
        file.get_mut("encoder.node_encoder.mlp_prep.0.weight").unwrap().data.fill(3e38);
    });
    assert!(error.contains("`encoder.node_encoder.mlp_prep.1` makes weights"), "{error}");
}

/// Training takes a network of the usual widths, also one that had normalisations or prefixes, and says what is odd of another.
#[test]
fn the_usual_network_is_known_by_its_widths() {
    let mut file: File = usual().into_iter().map(|(name, tensor)| (format!("module.{name}"), tensor)).collect();
    assert_eq!(read(file.clone()).unwrap().usual("t.pt").unwrap(), random(1));
    for (what, value) in [("running_mean", 0.5), ("running_var", 1.0 - 1e-5)] {
        let name = format!("module.encoder.global_encoder.mlp.5.{what}");
        file.insert(name, Tensor { shape: vec![16], data: vec![value; 16] });
    }
    let found = read(file).unwrap();
    assert_eq!((found.notes().len(), found.numbers()), (2, 20_802));
    let (found, bias) = (found.usual("t.pt").unwrap(), "encoder.global_encoder.mlp.4.bias");
    let moved = found.get(bias).unwrap().data[3] - random(1).get(bias).unwrap().data[3];
    assert!((moved + 0.5).abs() < 1e-6, "{moved}");
    let error = read(odd(1)).unwrap().usual("t.pt").unwrap_err().to_string();
    assert!(
        error.contains(
            "other widths than the public checkpoint's (`encoder.node_encoder.mlp_prep` is 5-7-96-7, not 5-32-16-16)"
        ),
        "{error}"
    );
}
