package apitype

import "encoding/json"

// List is a slice that is [] in JSON where it is empty, never null.
type List[T any] []T

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Map is a map by name that is {} in JSON where it is empty, never null.
type Map[T any] map[string]T

// MarshalJSON implements json.Marshaler.
func (m Map[T]) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]T(m))
}
