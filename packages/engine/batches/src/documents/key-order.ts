import type { ElementList } from './element-list.ts'

/** The number of bytes that decide the order. They follow the beginning that all IDs share. */
const sortedBytes = 4

/** More than the number of elements that a batch can have. */
const maxElements = 2 ** 20

/**
 * Returns the elements nearly in the order of their content: only the first few bytes after the beginning that all
 * elements share decide. Inserting 1,000,000 profiles in this order takes 5.1 s of Postgres's CPU instead of 7.0 s at
 * random. Returns the same array if it is in order.
 */
export function inKeyOrder(list: ElementList, elements: readonly number[]): readonly number[] {
  const shared = sharedPrefix(list, elements)
  const { bytes } = list.writer
  // Each number holds the deciding bytes of an element and, in its lower digits, the place of the element. Numbers sort
  // without a comparator.
  const keys = new Float64Array(elements.length)
  let isOrdered = true
  let preceding = -1
  for (const [place, element] of elements.entries()) {
    const start = list.startOf(element) + shared
    const end = list.endOf(element)
    let key = 0
    for (let at = start; at < start + sortedBytes; at++) key = key * 256 + (at < end ? (bytes[at] ?? 0) : 0)
    isOrdered &&= key >= preceding
    preceding = key
    keys[place] = key * maxElements + place
  }
  if (isOrdered) return elements
  return Array.from(keys.sort(), (key) => elements[key % maxElements] ?? 0)
}

/** Returns the length of the beginning that the content of all these elements shares, bytes. */
function sharedPrefix(list: ElementList, elements: readonly number[]): number {
  const { bytes } = list.writer
  const [first] = elements
  if (first === undefined) return 0
  const model = list.startOf(first)
  let shared = list.endOf(first) - model
  for (const element of elements) {
    const start = list.startOf(element)
    const most = Math.min(shared, list.endOf(element) - start)
    let length = 0
    while (length < most && bytes[start + length] === bytes[model + length]) length++
    shared = length
  }
  return shared
}
