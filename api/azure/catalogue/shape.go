package catalogue

// Type is the JSON type of a value, or how an ARM id is written.
type Type uint8

const (
	// Any is any JSON value: the schema says nothing of the value.
	Any Type = iota
	// Object has Properties.
	Object
	// List has Items.
	List
	// Map has string keys, and Items as values.
	Map
	// String may have an Enum, a Pattern, a Format and bounds of its length.
	String
	// Integer may have bounds.
	Integer
	// Number may have bounds.
	Number
	// Boolean is true or false.
	Boolean
	// IntOrString is an integer or a string.
	IntOrString
	// ID is an ARM id in a string. In Kubernetes the value is a Reference.
	ID
	// IDObject is an object with an ARM id in the property id. In Kubernetes the value is a Reference.
	IDObject
	// IDMap is a map with ARM ids as keys, and Items as values, such as the identities of a virtual
	// machine. In Kubernetes the value is a list of objects with a Reference in ref.
	IDMap
	// Secret is a value that Azure accepts and never returns: a string, or an object if Open. In Kubernetes the
	// value is a SecretKey.
	Secret

	typeEnd // the first number that is no Type
)

// Shape is the form of a value in the Kubernetes object and in the ARM body.
type Shape struct {
	Type Type
	// Properties of an Object, by Name.
	Properties []Property
	// Open tells that the schema allows an Object more properties than it lists, or that Azure has more
	// values of a String than its Enum. An Open Secret is an object in ARM, and the Secret in Kubernetes has JSON.
	Open bool
	// Discriminator is the property of an Object that tells which other properties are in use.
	Discriminator string
	// Items of a List, values of a Map or of an IDMap.
	Items *Shape
	// Enum are the values of a String, sorted. In a union, those of the first option come first.
	Enum []string
	// Pattern of a String, a regular expression of package regexp.
	Pattern string
	// Format of a String, such as date-time.
	Format string
	// MinLength and MaxLength bound a String and the number of items of a List. Zero is no bound.
	MinLength, MaxLength int64
	// Minimum and Maximum bound an Integer and a Number.
	Minimum, Maximum *float64
	// Targets are the ARM types that an ID, an IDObject or an IDMap may refer to. Without Targets the
	// reference is by id only: in Kubernetes it has to name group and kind.
	Targets []Target

	depth, size int // of the whole tree, known once the Shape was decoded
}

// Property is a property of an Object.
type Property struct {
	// Name in the Kubernetes object.
	Name string
	// ARM is the name in the ARM body.
	ARM string
	// Nested tells that the ARM property is in the property "properties" of the ARM object.
	Nested bool
	// Required tells that the schema requires the property. Azure often doesn't.
	Required bool
	// Suggested tells that the first option of a union requires the property. The schema accepts a body
	// with all required and suggested properties, where enums have their first values.
	Suggested bool
	Shape     *Shape
}

// Target is what a reference may point to.
type Target struct {
	// Type is an ARM type, such as Microsoft.Network/virtualNetworks/subnets.
	Type string
	// Part is the collection inside of the resource that has the target, such as
	// frontendIPConfigurations of a load balancer. Empty if the target is the resource.
	Part string
}

// Definition is the body of a Kind.
type Definition struct {
	// Body is the Object with all properties of the resource but name, type and apiVersion.
	Body *Shape
	// Name is the String that names of this Kind are.
	Name *Shape
	// Preserved are the child collections that the spec doesn't have, because each child is an object of
	// its own. A PUT without them would delete the children.
	Preserved []Preserved
	// ReadOnly are the places that Azure alone writes. The schema, and so Body, lacks most of the places.
	ReadOnly []Path
	// Sensitive are the places of secrets in the body: Azure accepts a value there, and returns none.
	Sensitive []Path
	// Actions of the resource, by Name.
	Actions []Action
}

// Preserved is a collection of children in the ARM body of their owner.
type Preserved struct {
	// Path in the ARM body, such as /properties/subnets.
	Path string
	// Type of the children, such as Microsoft.Network/virtualNetworks/subnets.
	Type string
}

// isLeaf tells whether walk visits the value: a Reference or a SecretKey.
func (s *Shape) isLeaf() bool { return s.isReference() || s.Type == Secret }

// isReference tells whether the value is a Reference in Kubernetes.
func (s *Shape) isReference() bool { return s.Type == ID || s.Type == IDObject }

// find returns the property with a name in Kubernetes, or nil.
func (s *Shape) find(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}
