import type { Unit } from './wire/unit.ts'

/** The ways in which a run is cut at a point. */
export const kinds = ['killed', 'answer-lost', 'frozen'] as const

export type Kind = (typeof kinds)[number]

/** The servers that the process under test sends messages to. */
export const serverNames = ['postgres', 'redis', 'storage', 'mail'] as const

export type ServerName = (typeof serverNames)[number]

/** A message that changes something in a server. Each run of a scenario sends the same messages of this kind. */
export interface Point {
  /** The server, what the message does, and how many messages of the run did the same so far. */
  key: string
  /** The step of the scenario during which the message was sent. */
  step: number
  /** Whether the server answers this message. The head of a request with a body is answered after the body only. */
  answered: boolean
}

/** Requests for a job. An idle worker repeats them, so only the first {@link countedPolls} of each queue are points. */
const poll = /move_to_active|bzpopmin/
const countedPolls = 2

/** Numbers the messages of one process. */
export class PointCounter {
  readonly points: Point[] = []
  readonly #counts = new Map<string, number>()

  /** Returns the point of a message; undefined if the message changes nothing. */
  add(server: ServerName, { label, answered }: Unit, step: number): Point | undefined {
    if (label === undefined) return undefined
    const name = `${server}: ${label}`
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    if (poll.test(label) && count > countedPolls) return undefined
    const point = { key: `${name} #${count}`, step, answered }
    this.points.push(point)
    return point
  }
}

/**
 * Returns the points that all undisturbed runs have in common, in the order of steps. Within a step, messages of
 * several connections interleave. Their keys decide there, so that a number always means the same message.
 */
export function commonPoints(runs: readonly (readonly Point[])[]): Point[] {
  const [first = [], ...others] = runs
  const keys = others.map((points) => new Set(points.map(({ key }) => key)))
  return first
    .filter(({ key }) => keys.every((known) => known.has(key)))
    .toSorted((a, b) => a.step - b.step || (a.key < b.key ? -1 : 1))
}
