//! Why our own sums stand where a library's call would do: what linfa 0.8.1 does with weights and centring.
//!
//! When one of these tests fails, the library has got better, and the code that works round the flaw can go.

use linfa::{Dataset, traits::Fit};
use linfa_elasticnet::ElasticNet;
use linfa_linear::LinearRegression;
use linfa_logistic::LogisticRegression;
use ndarray::{Array1, Array2, array};

#[test]
fn linfa_elasticnet_fits_an_intercept_without_centring_the_features() {
    // y = 3 x + 5 exactly, x around 100.
    let x = Array2::from_shape_fn((200, 1), |(i, _)| 95.0 + i as f64 / 20.0);
    let y: Array1<f64> = x.column(0).mapv(|x| 3.0 * x + 5.0);
    let data = Dataset::new(x.clone(), y.clone());
    let fitted = ElasticNet::ridge().penalty(1e-9).max_iterations(100_000).tolerance(1e-12).fit(&data).unwrap();
    assert!(fitted.hyperplane()[0].abs() < 0.1, "it finds {} in place of 3", fitted.hyperplane()[0]);
    assert!((fitted.intercept() - y.mean().unwrap()).abs() < 1e-9, "its intercept is the mean of y");
    // On centred columns, as we use it, it is sound.
    let centred = Dataset::new(&x - x.mean().unwrap(), &y - y.mean().unwrap());
    let recipe = ElasticNet::ridge().penalty(1e-9).with_intercept(false).max_iterations(100_000).tolerance(1e-12);
    let fitted = recipe.fit(&centred).unwrap();
    assert!((fitted.hyperplane()[0] - 3.0).abs() < 1e-6);
}

/// Four points on no line, of which the last weighs next to nothing.
fn weighted() -> (Array2<f64>, Array1<f32>) {
    (array![[0.0], [1.0], [2.0], [3.0]], Array1::from(vec![1.0, 1.0, 1.0, 1e-6]))
}

#[test]
fn linfa_linear_and_linfa_elasticnet_ignore_weights() {
    let (x, weight) = weighted();
    let y = array![0.0, 1.0, 2.0, 30.0];
    let plain = Dataset::new(x, y);
    let slope = |data: &Dataset<f64, f64, ndarray::Ix1>| LinearRegression::new().fit(data).unwrap().params()[0];
    let lasso = |data: &Dataset<f64, f64, ndarray::Ix1>| {
        ElasticNet::lasso().penalty(0.01).with_intercept(false).fit(data).unwrap().hyperplane()[0]
    };
    let heavy = plain.clone().with_weights(weight);
    assert!(slope(&plain) > 5.0, "the last point counts");
    assert_eq!(slope(&heavy), slope(&plain), "with weights the slope should be 1");
    assert_eq!(lasso(&heavy), lasso(&plain));
}

#[test]
fn linfa_linear_refuses_equal_columns() {
    let x = array![[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [4.0, 4.0]];
    let refused = LinearRegression::new().fit(&Dataset::new(x, array![0.0, 1.0, 2.0, 4.0]));
    assert!(refused.is_err(), "there is no penalty that would share the coefficient between them");
}

#[test]
fn linfa_logistic_ignores_weights() {
    let (x, weight) = weighted();
    let plain = Dataset::new(x, array![false, true, false, true]);
    let slope = |data: &Dataset<f64, bool, ndarray::Ix1>| LogisticRegression::default().fit(data).unwrap().params()[0];
    let heavy = plain.clone().with_weights(weight);
    assert_eq!(slope(&heavy), slope(&plain));
}
