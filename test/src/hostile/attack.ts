import type { BucketOwner } from '../s3-gateway/bucket-owner.ts'
import type { RunningStack } from '../stack/running-stack.ts'
import type { StackUrls } from './hostile-stack.ts'

/** What an attack has measured, by name. Names say the unit. */
export type Figures = Record<string, number>

/** What an attack works with. */
export interface AttackContext {
  stack: RunningStack
  urls: StackUrls
  /** Whether this is the sample in `npm test`, which has to end within seconds. */
  isSample: boolean
  /** Aborts when the attack has to end, whatever has come of it. */
  signal: AbortSignal
  /** Opens an app of an attacker, with users `u1` to `u9` and an access key. */
  openAttacker(): Promise<BucketOwner>
}

/** A finding of the issue, as an attack on a running stack. */
export interface Attack {
  /** Its number in the issue. */
  finding: number
  title: string
  /** Whether it is part of the sample in `npm test`. */
  inSample?: boolean
  /** How long it may last in the long run, ms; 90 s if it is left out. */
  longestMs?: number
  /** Settings of the stack, beside those of every run. */
  env?: Record<string, string>
  /** Attacks until it is done or `signal` aborts. Returns what it measured. */
  attack(context: AttackContext): Promise<Figures>
  /** Returns what is wrong with the figures; nothing is, if it is left out. */
  expect?(figures: Figures, context: { isSample: boolean }): string[]
}

/** Returns a violation if a figure is over its bound, or was not measured. */
export function atMost(figures: Figures, name: string, bound: number): string[] {
  const value = figures[name] ?? Number.NaN
  return value <= bound ? [] : [`${name}: ${value}, over ${bound}`]
}

/** Returns a violation if a figure is under its bound, or was not measured. */
export function atLeast(figures: Figures, name: string, bound: number): string[] {
  const value = figures[name] ?? Number.NaN
  return value >= bound ? [] : [`${name}: ${value}, under ${bound}`]
}
