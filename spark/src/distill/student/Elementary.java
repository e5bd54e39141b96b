package distill.student;

/**
 * {@code exp}, {@code ln} and {@code ln1p} that give the same bits everywhere: the port of
 * {@code crates/core/src/elementary.rs}, operation by operation. What is changed there is to be changed here.
 */
final class Elementary {
    /** ln 2 in two parts: the first has so few bits that its products with exponents are exact. */
    private static final double LN_2 = Double.longBitsToDouble(0x3fe6_2e42_fee0_0000L);
    private static final double LN_2_REST = Double.longBitsToDouble(0x3dea_39ef_3579_3c76L);

    /** 1 ÷ ln 2. */
    private static final double PER_LN_2 = 1.442_695_040_888_963_4;

    /** 1.5 · 2⁵²: numbers near it have no places behind the point, so that adding it rounds. */
    private static final double ROUNDER = 6_755_399_441_055_744.0;

    /** The bits of √½, rounded down. */
    private static final long SQRT_HALF = 0x3fe6_a09e_667f_3bccL;

    /** The bits of 1. */
    private static final long ONE = 0x3ff0_0000_0000_0000L;

    /** The bits of a number's fraction. */
    private static final long FRACTION = 0x000f_ffff_ffff_ffffL;

    private Elementary() {}

    /** 2 to the power of an exponent from −1022 to 1023. */
    private static double powerOf2(long exponent) {
        return Double.longBitsToDouble((exponent + 1023) << 52);
    }

    /** eˣ. */
    static double exp(double x) {
        // Beyond this all is infinite, or 0, long since.
        if (Math.abs(x) > 800.0) {
            return x > 0.0 ? Double.POSITIVE_INFINITY : 0.0;
        }
        double shifted = x * PER_LN_2 + ROUNDER;
        double k = shifted - ROUNDER;
        double r = (x - k * LN_2) - k * LN_2_REST;
        double r2 = r * r;
        double r4 = r2 * r2;
        double a = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
        double b = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362_880.0));
        double c = (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0))
            + r2 * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
        double power = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
        // In two steps, as 2 to the power of k alone may be too large or too small.
        long whole = (int) Double.doubleToRawLongBits(shifted);
        long half = whole >> 1;
        return power * powerOf2(half) * powerOf2(whole - half);
    }

    /** The natural logarithm; not a number for negative x. */
    static double ln(double x) {
        if (!(x > 0.0 && x < Double.POSITIVE_INFINITY)) {
            return x == 0.0 ? Double.NEGATIVE_INFINITY : x == Double.POSITIVE_INFINITY ? x : Double.NaN;
        }
        // Numbers so small that their exponent does not say how small are made larger by 2⁵⁴.
        boolean isSmall = x < Double.MIN_NORMAL;
        long bits = Double.doubleToRawLongBits(isSmall ? x * 18_014_398_509_481_984.0 : x);
        long above = bits + (ONE - SQRT_HALF);
        double k = (above >>> 52) - 1023 - (isSmall ? 54 : 0);
        double f = Double.longBitsToDouble((above & FRACTION) + SQRT_HALF) - 1.0;
        double s = f / (2.0 + f);
        double z = s * s;
        double z2 = z * z;
        double z4 = z2 * z2;
        double a = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
        double b = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
        double rest = z * (a + z4 * (b + z4 * (2.0 / 19.0)));
        // 2s is f − s · f, and s · f is f²/2 − s · f²/2: what is left to be added is small, and so are its errors.
        double half = 0.5 * f * f;
        return k * LN_2 - ((half - (s * (half + rest) + k * LN_2_REST)) - f);
    }

    /** ln(1 + x), exact for small x too; not a number below −1. */
    static double ln1p(double x) {
        double u = 1.0 + x;
        if (u == 1.0) {
            return x;
        }
        if (u == Double.POSITIVE_INFINITY) {
            return u;
        }
        // What u lost in rounding makes up a part of ln u that is as large as x ÷ (u − 1) says.
        return ln(u) * (x / (u - 1.0));
    }
}
