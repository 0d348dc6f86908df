//! Lines and labels of a world.
