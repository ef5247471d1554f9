"""What every program gets from its runner."""

import os
from datetime import datetime

HOST = os.environ["VISIT_HOST"]
KEY = os.environ["VISIT_KEY"]
ORDER_TIME = datetime.fromisoformat(os.environ["VISIT_ORDER_TIME"])
ORDER = "order-1"
URL = "https://shop.example/sale?utm_source=news"
REFERRER = "https://www.google.com/"
