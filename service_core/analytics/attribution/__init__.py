"""Attribution: which touches a conversion is credited to, by a chosen model."""
