import { pick, type Random } from '../../../environment/random.ts'

/** Bytes that readers treat specially more often than others. */
const specialBytes = Buffer.from('\0\t\n\r "%&\'+,-./:;<=>?[]{}\\')

/** The length of the longest usual input, bytes. A reader with quadratic time is noticed by amplified inputs. */
const usualLength = 2_048
const amplifiedLength = 65_536
/** One of this many inputs is amplified. */
const amplifiedShare = 500

type Mutation = (input: Buffer, random: Random, sources: Sources) => Buffer

/** What mutations insert. */
interface Sources {
  dictionary: readonly string[]
  pool: readonly Buffer[]
  /** The input to change. Default: any of the pool. */
  first?: Buffer
}

const anyByte = (random: Random) => (random(2) === 0 ? (specialBytes[random(specialBytes.length)] ?? 0) : random(256))

/** Replaces the bytes between two offsets. */
function replace(input: Buffer, from: number, to: number, bytes: Buffer): Buffer {
  return Buffer.concat([input.subarray(0, from), bytes, input.subarray(to)])
}

function anyRange(input: Buffer, random: Random): [from: number, to: number] {
  const from = random(input.length + 1)
  return [from, Math.min(input.length, from + random(random(4) === 0 ? 256 : 9))]
}

const mutations: readonly Mutation[] = [
  function flipBit(input, random) {
    if (input.length === 0) return input
    const copy = Buffer.from(input)
    const at = random(copy.length)
    copy[at] = (copy[at] ?? 0) ^ (1 << random(8))
    return copy
  },
  function setByte(input, random) {
    if (input.length === 0) return input
    const copy = Buffer.from(input)
    copy[random(copy.length)] = anyByte(random)
    return copy
  },
  function insertBytes(input, random) {
    const at = random(input.length + 1)
    return replace(input, at, at, Buffer.from(Array.from({ length: 1 + random(4) }, () => anyByte(random))))
  },
  function remove(input, random) {
    const [from, to] = anyRange(input, random)
    return replace(input, from, to, Buffer.alloc(0))
  },
  function duplicate(input, random) {
    const [from, to] = anyRange(input, random)
    const at = random(input.length + 1)
    return replace(input, at, at, input.subarray(from, to))
  },
  function insertWord(input, random, { dictionary }) {
    if (dictionary.length === 0) return input
    const [from, to] = anyRange(input, random)
    return replace(input, from, random(2) === 0 ? from : to, Buffer.from(pick(dictionary, random), 'latin1'))
  },
  function splice(input, random, { pool }) {
    const other = pick(pool, random)
    const [from, to] = anyRange(other, random)
    const at = random(input.length + 1)
    return replace(
      input,
      at,
      random(2) === 0 ? at : input.length,
      other.subarray(from, random(2) === 0 ? to : undefined),
    )
  },
  function changeNumber(input, random) {
    const text = input.toString('latin1')
    const numbers = [...text.matchAll(/\d+/g)]
    if (numbers.length === 0) return input
    const { 0: found, index } = pick(numbers, random)
    const values = ['0', '-1', '1', '255', '65536', '4294967296', '9007199254740993', '1e999', `${Number(found) + 1}`]
    return Buffer.from(text.slice(0, index) + pick(values, random) + text.slice(index + found.length), 'latin1')
  },
  function truncate(input, random) {
    return input.subarray(0, random(input.length + 1))
  },
]

/** Returns a new input: `first`, or an input of the pool, with one to five mutations. */
export function mutated(sources: Sources, random: Random): Buffer {
  let input = sources.first ?? pick(sources.pool, random)
  for (let count = 1 + random(5); count > 0; count--) input = pick(mutations, random)(input, random, sources)
  return random(amplifiedShare) === 0 ? amplified(input, random) : input.subarray(0, usualLength)
}

/** Repeats a part of an input up to a great length. */
function amplified(input: Buffer, random: Random): Buffer {
  if (input.length === 0) return input
  const from = random(input.length)
  const part = input.subarray(from, from + 1 + random(32))
  const times = Math.floor((amplifiedLength - input.length) / part.length)
  const repeated = Buffer.concat(Array.from({ length: Math.max(times, 1) }, () => part))
  return replace(input, from, from, repeated).subarray(0, amplifiedLength)
}
