"""The small network of the tests for scenarios that are seen level by level: `network_levels.py`."""

import json
import math
import sys

from network import WIDTH, product, tanh, weights


def main():
    columns = {}
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            columns = {level: len(names) for level, names in message["columns"].items()}
            reply = {"protocol": 1}
        elif message["type"] == "reset":
            continue
        else:
            reply = {"id": message["id"]}
            for level, width in columns.items():
                first = [[w / 16 for w in row] for row in weights(width, width, WIDTH)]
                last = weights(width + 1, WIDTH, 1)
                hidden = [tanh(product([math.log1p(abs(x)) for x in row], first)) for row in message[level]]
                reply[level + "_scores"] = [2 * product(row, last)[0] for row in hidden]
        print(json.dumps(reply), flush=True)


main()
