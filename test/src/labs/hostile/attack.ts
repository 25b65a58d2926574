import type { BucketOwner } from '../../s3-gateway/bucket-owner.ts'
import type { RunningStack } from '../../stack/running-stack.ts'
import type { StackUrls } from './hostile-stack.ts'

/** Measurements of an attack, by name. Names contain the unit. */
export type Figures = Record<string, number>

/** What an attack works with: a stack, its addresses, and apps of attackers. */
export interface AttackContext {
  stack: RunningStack
  urls: StackUrls
  /** Whether the attack must end within seconds, as in `npm run test:long`. */
  isShort: boolean
  /** Aborts when the attack must end. */
  signal: AbortSignal
  /** Opens an app of an attacker, with users `u1` to `u9` and an access key. */
  openAttacker(): Promise<BucketOwner>
}

/** An attack on a running stack. */
export interface Attack {
  title: string
  /** Whether the attack is part of the sample in `npm run test:long`. */
  inSample?: boolean
  /** How long the attack may last in `npm run test:hostile`, ms. Defaults to 90 s. */
  longestMs?: number
  env?: Record<string, string>
  /** Attacks until the attack is complete or `signal` aborts. Returns the measurements. */
  attack(context: AttackContext): Promise<Figures>
  /** Checks the measurements. Returns the violations. */
  expect?(figures: Figures, context: { isShort: boolean }): string[]
}

/** Returns a violation if a figure is above its bound or missing. */
export function atMost(figures: Figures, name: string, bound: number): string[] {
  const value = figures[name] ?? Number.NaN
  return value <= bound ? [] : [`${name}: ${value}, over ${bound}`]
}

/** Returns a violation if a figure is below its bound or missing. */
export function atLeast(figures: Figures, name: string, bound: number): string[] {
  const value = figures[name] ?? Number.NaN
  return value >= bound ? [] : [`${name}: ${value}, under ${bound}`]
}
