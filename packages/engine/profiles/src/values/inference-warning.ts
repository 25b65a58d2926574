// This file also runs in browsers, so it must not use Node's API.

/** Warns that the type that was inferred for a column may be wrong. */
export interface InferenceWarning {
  /** For people: how many values are the reason. */
  message: string
  /** The first of these values, without repetitions. */
  examples: string[]
}

/** Maximum number of examples, and of characters of an example: a number may have any number of leading zeros. */
export const maxExamples = 3
const exampleLength = 40

/** Adds a value to examples, cut off, unless there are enough. */
export function addExample(examples: string[], value: string): void {
  if (examples.length === maxExamples) return
  const example = value.length > exampleLength ? `${value.slice(0, exampleLength)}…` : value
  if (!examples.includes(example)) examples.push(example)
}
