"""The 22 questions of the TPC-H benchmark in Spark's SQL, with the parameters that the benchmark validates results with.

Tables and columns are those of the benchmark's specification (tpc.org, revision 3), as `tpchgen-cli` writes them.
"""

import subprocess
from pathlib import Path

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")

# Scale factors of the tables, and what share of the queries is on them.
SCALES = {"small": 0.02, "medium": 0.1, "large": 0.4}
SHARES = {"small": 0.6, "medium": 0.3, "large": 0.1}
# Tasks that read a large table at most.
PARTS = 8

# Money of a line after its discount.
PAID = "l_extendedprice * (1 - l_discount)"

QUERIES = {
    1: f"""
        SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum({PAID}), sum({PAID} * (1 + l_tax)),
            avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
        FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    2: """
        WITH european AS (
            SELECT * FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
                JOIN region ON r_regionkey = n_regionkey WHERE r_name = 'EUROPE'),
        cheapest AS (SELECT ps_partkey AS key, min(ps_supplycost) AS cost FROM european GROUP BY ps_partkey)
        SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
        FROM part JOIN european ON ps_partkey = p_partkey JOIN cheapest ON key = p_partkey AND cost = ps_supplycost
        WHERE p_size = 15 AND p_type LIKE '%BRASS'
        ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100""",
    3: f"""
        SELECT l_orderkey, sum({PAID}) AS revenue, o_orderdate, o_shippriority
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
        WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    4: """
        SELECT o_orderpriority, count(*) FROM orders
        LEFT SEMI JOIN (SELECT l_orderkey FROM lineitem WHERE l_commitdate < l_receiptdate) ON l_orderkey = o_orderkey
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
        GROUP BY o_orderpriority ORDER BY o_orderpriority""",
    5: f"""
        SELECT n_name, sum({PAID}) AS revenue
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
            JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
            JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
        WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        GROUP BY n_name ORDER BY revenue DESC""",
    6: """
        SELECT sum(l_extendedprice * l_discount) FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
            AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    7: f"""
        SELECT s.n_name AS supplier, c.n_name AS customer, year(l_shipdate) AS shipped, sum({PAID})
        FROM supplier JOIN lineitem ON l_suppkey = s_suppkey JOIN orders ON o_orderkey = l_orderkey
            JOIN customer ON c_custkey = o_custkey JOIN nation s ON s.n_nationkey = s_nationkey
            JOIN nation c ON c.n_nationkey = c_nationkey
        WHERE (s.n_name, c.n_name) IN (('FRANCE', 'GERMANY'), ('GERMANY', 'FRANCE'))
            AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3""",
    8: f"""
        SELECT year(o_orderdate) AS ordered, sum(if(s.n_name = 'BRAZIL', {PAID}, 0)) / sum({PAID})
        FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
            JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey
            JOIN nation c ON c.n_nationkey = c_nationkey JOIN region ON r_regionkey = c.n_regionkey
            JOIN nation s ON s.n_nationkey = s_nationkey
        WHERE r_name = 'AMERICA' AND p_type = 'ECONOMY ANODIZED STEEL'
            AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        GROUP BY 1 ORDER BY 1""",
    9: f"""
        SELECT n_name, year(o_orderdate) AS ordered, sum({PAID} - ps_supplycost * l_quantity)
        FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
            JOIN partsupp ON ps_suppkey = l_suppkey AND ps_partkey = l_partkey
            JOIN orders ON o_orderkey = l_orderkey JOIN nation ON n_nationkey = s_nationkey
        WHERE p_name LIKE '%green%' GROUP BY 1, 2 ORDER BY 1, 2 DESC""",
    10: f"""
        SELECT c_custkey, c_name, sum({PAID}) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
            JOIN nation ON n_nationkey = c_nationkey
        WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
        ORDER BY revenue DESC, c_custkey LIMIT 20""",
    11: """
        WITH german AS (
            SELECT ps_partkey, ps_supplycost * ps_availqty AS worth
            FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
            WHERE n_name = 'GERMANY')
        SELECT ps_partkey, sum(worth) AS total FROM german GROUP BY ps_partkey
        HAVING total > (SELECT sum(worth) * 0.0001 FROM german) ORDER BY total DESC, ps_partkey""",
    12: """
        SELECT l_shipmode, count_if(o_orderpriority IN ('1-URGENT', '2-HIGH')),
            count_if(o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))
        FROM orders JOIN lineitem ON l_orderkey = o_orderkey
        WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
            AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
        GROUP BY l_shipmode ORDER BY l_shipmode""",
    13: """
        SELECT orders_of_one, count(*) AS customers
        FROM (SELECT c_custkey, count(o_orderkey) AS orders_of_one FROM customer
            LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey)
        GROUP BY orders_of_one ORDER BY customers DESC, orders_of_one DESC""",
    14: f"""
        SELECT 100 * sum(if(p_type LIKE 'PROMO%', {PAID}, 0)) / sum({PAID})
        FROM lineitem JOIN part ON p_partkey = l_partkey
        WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'""",
    15: f"""
        WITH revenue AS (
            SELECT l_suppkey, sum({PAID}) AS total FROM lineitem
            WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey)
        SELECT s_suppkey, s_name, s_address, s_phone, total FROM supplier JOIN revenue ON l_suppkey = s_suppkey
        WHERE total = (SELECT max(total) FROM revenue) ORDER BY s_suppkey""",
    16: """
        SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS suppliers
        FROM partsupp JOIN part ON p_partkey = ps_partkey
            LEFT ANTI JOIN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
            ON s_suppkey = ps_suppkey
        WHERE p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
        GROUP BY p_brand, p_type, p_size ORDER BY suppliers DESC, p_brand, p_type, p_size""",
    17: """
        WITH small AS (SELECT l_partkey AS key, 0.2 * avg(l_quantity) AS quantity FROM lineitem GROUP BY l_partkey)
        SELECT sum(l_extendedprice) / 7 FROM part JOIN lineitem ON l_partkey = p_partkey JOIN small ON key = p_partkey
        WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < quantity""",
    18: """
        WITH large AS (SELECT l_orderkey AS key FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
        FROM customer JOIN orders ON o_custkey = c_custkey LEFT SEMI JOIN large ON key = o_orderkey
            JOIN lineitem ON l_orderkey = o_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100""",
    19: f"""
        SELECT sum({PAID}) FROM lineitem JOIN part ON p_partkey = l_partkey
        WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (
            (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
                AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5)
            OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
                AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10)
            OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
                AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15))""",
    20: """
        WITH shipped AS (
            SELECT l_partkey, l_suppkey, 0.5 * sum(l_quantity) AS half FROM lineitem
            WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' GROUP BY l_partkey, l_suppkey),
        forest AS (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%'),
        ready AS (
            SELECT ps_suppkey FROM partsupp LEFT SEMI JOIN forest ON p_partkey = ps_partkey
            JOIN shipped ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey WHERE ps_availqty > half)
        SELECT s_name, s_address FROM supplier JOIN nation ON n_nationkey = s_nationkey
            LEFT SEMI JOIN ready ON ps_suppkey = s_suppkey WHERE n_name = 'CANADA' ORDER BY s_name""",
    21: """
        WITH late AS (SELECT l_orderkey, l_suppkey FROM lineitem WHERE l_receiptdate > l_commitdate)
        SELECT s_name, count(*) AS waits
        FROM late l JOIN supplier ON s_suppkey = l.l_suppkey JOIN orders ON o_orderkey = l.l_orderkey
            JOIN nation ON n_nationkey = s_nationkey
            LEFT SEMI JOIN lineitem o ON o.l_orderkey = l.l_orderkey AND o.l_suppkey <> l.l_suppkey
            LEFT ANTI JOIN late a ON a.l_orderkey = l.l_orderkey AND a.l_suppkey <> l.l_suppkey
        WHERE o_orderstatus = 'F' AND n_name = 'SAUDI ARABIA'
        GROUP BY s_name ORDER BY waits DESC, s_name LIMIT 100""",
    22: """
        WITH asked AS (
            SELECT *, left(c_phone, 2) AS country FROM customer
            WHERE left(c_phone, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
        SELECT country, count(*), sum(c_acctbal) FROM asked LEFT ANTI JOIN orders ON o_custkey = c_custkey
        WHERE c_acctbal > (SELECT avg(c_acctbal) FROM asked WHERE c_acctbal > 0) GROUP BY country ORDER BY country""",
}


def generate(folder: Path, scale: float, parts: int) -> None:
    """Writes the tables of one scale as Parquet, the large ones in `parts` files, so that as many tasks read them."""
    if (folder / "done").exists():
        return
    large = ("lineitem", "orders", "partsupp")
    small = [table for table in TABLES if table not in large]
    for tables, count in ((large, parts), (small, 1)):
        command = ["tpchgen-cli", "parquet", "--overwrite", "-s", str(scale), "--parts", str(count), "-o", str(folder)]
        subprocess.run([*command, f"--tables={','.join(tables)}"], check=True, stdout=subprocess.DEVNULL)
    (folder / "done").touch()
