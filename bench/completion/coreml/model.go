//go:build darwin && cgo

package coreml

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	kit "github.com/progrium/darwinkit/macos/coreml"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

// Model is a loaded model with an input to predict from. One goroutine uses it at a time.
type Model struct {
	model   kit.Model
	input   kit.DictionaryFeatureProvider
	outputs []string
	want    float64 // the checksum of the first answer
	asked   bool
}

// Load loads a compiled model (.mlmodelc) whose inputs are arrays or numbers; they will be zeros.
func Load(path string) (m *Model, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	objc.WithAutoreleasePool(func() { m, err = load(path) })
	return m, err
}

func load(path string) (*Model, error) {
	var fault foundation.Error
	model := kit.Model_ModelWithContentsOfURLError(foundation.URL_FileURLWithPath(path), unsafe.Pointer(&fault))
	if model.IsNil() {
		return nil, fmt.Errorf("coreml: %s: %s", path, reason(fault))
	}
	description := model.ModelDescription()
	values := map[string]objc.IObject{}
	for name, feature := range description.InputDescriptionsByName() {
		value, err := zero(feature)
		if err != nil {
			return nil, fmt.Errorf("coreml: %s: input %s: %w", path, name, err)
		}
		values[name] = value
	}
	input := kit.NewDictionaryFeatureProviderWithDictionaryError(values, unsafe.Pointer(&fault))
	if input.IsNil() {
		return nil, fmt.Errorf("coreml: %s: inputs: %s", path, reason(fault))
	}
	m := &Model{model: model, input: input}
	for name := range description.OutputDescriptionsByName() {
		m.outputs = append(m.outputs, name)
	}
	m.model.Retain()
	m.input.Retain()
	return m, nil
}

// zero is a value that a feature accepts.
func zero(feature kit.FeatureDescription) (objc.IObject, error) {
	switch kind := feature.Type(); kind {
	case kit.FeatureTypeDouble:
		return kit.FeatureValue_FeatureValueWithDouble(0), nil
	case kit.FeatureTypeInt64:
		return kit.FeatureValue_FeatureValueWithInt64(0), nil
	case kit.FeatureTypeMultiArray:
		constraint := feature.MultiArrayConstraint()
		var shape []foundation.INumber
		for _, n := range constraint.Shape() {
			shape = append(shape, n)
		}
		var fault foundation.Error
		array := kit.NewMultiArrayWithShapeDataTypeError(shape, constraint.DataType(), unsafe.Pointer(&fault))
		if array.IsNil() {
			return nil, errors.New(reason(fault))
		}
		for i := range array.Count() {
			array.SetObjectAtIndexedSubscript(foundation.Number_NumberWithDouble(0), i)
		}
		return kit.FeatureValue_FeatureValueWithMultiArray(array), nil
	default:
		return nil, fmt.Errorf("type %d is neither a number nor an array", kind)
	}
}

// Predict runs the model once, in native code during which the runtime has its processor back. What Core ML returns lives
// in an autorelease pool of this call alone: threads of Go have none, and without it every answer would stay. right says
// whether the answer is that of the first call.
func (m *Model) Predict() (right bool, err error) {
	runtime.LockOSThread() // a pool belongs to its thread
	defer runtime.UnlockOSThread()
	objc.WithAutoreleasePool(func() {
		var fault foundation.Error
		answer := m.model.PredictionFromFeaturesObjectError(m.input, unsafe.Pointer(&fault))
		if answer.IsNil() {
			err = fmt.Errorf("coreml: prediction: %s", reason(fault))
			return
		}
		sum := 0.0
		for _, name := range m.outputs {
			sum += checksum(answer.FeatureValueForName(name))
		}
		if !m.asked {
			m.asked, m.want = true, sum
		}
		right = math.Float64bits(sum) == math.Float64bits(m.want)
	})
	return right, err
}

// checksum tells answers apart: the number, or the ends of an array.
func checksum(v kit.FeatureValue) float64 {
	switch v.Type() {
	case kit.FeatureTypeDouble:
		return v.DoubleValue()
	case kit.FeatureTypeInt64:
		return float64(v.Int64Value())
	case kit.FeatureTypeMultiArray:
		if array := v.MultiArrayValue(); array.Count() > 0 {
			return array.ObjectAtIndexedSubscript(0).DoubleValue() + array.ObjectAtIndexedSubscript(array.Count()-1).DoubleValue()
		}
	}
	return 0
}

// Close releases the model.
func (m *Model) Close() {
	m.input.Release()
	m.model.Release()
}

func reason(fault foundation.Error) string {
	if fault.IsNil() {
		return "Core ML gives no reason"
	}
	return fault.LocalizedDescription()
}
