"""`/documents`: the library, its collections, uploads in parts. One file a kind of resource."""
