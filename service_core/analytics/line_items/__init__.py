"""Line items of orders: items sold and returned, as events list them."""
