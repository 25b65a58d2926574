// A case of the conformance kit: a call of a client, what the servers do meanwhile, and what must come of it.

/**
 * What a request is for. `storage` sends the file of an export, `upload` accepts the file of an import, and `withdraw`
 * cancels an import.
 */
export type Route =
  | 'announce'
  | 'upload'
  | 'show'
  | 'withdraw'
  | 'users'
  | 'deletions'
  | 'profile'
  | 'exports'
  | 'export'
  | 'link'
  | 'storage'

/**
 * What happens to one request:
 * - `pass`: Sluice answers
 * - `cut`: the connection breaks before the request is read
 * - `lose answer`: Sluice serves the request, and the connection breaks before the answer
 * - `cancel`: the import is cancelled first
 * - `first answer`: the first answer of this route is sent again
 * - `cutAfter`, `cutAnswerAfter`: the connection breaks after some bytes of the body
 * - `status`: the server answers this instead of Sluice; `isEarly` before it reads the body
 * - `delayMs`: Sluice answers later
 * - `merge`: Sluice answers with other values of some members
 */
export type Step =
  | 'pass'
  | 'cut'
  | 'lose answer'
  | 'cancel'
  | 'first answer'
  | { cutAfter: number }
  | { cutAnswerAfter: number }
  | { status: number; headers?: Record<string, string>; body?: unknown; isEarly?: boolean }
  | { delayMs: number }
  | { merge: Record<string, unknown> }

/** A file that a call sends: its text, plain or in gzip, or a number of rows of 260 bytes for the users `user-0` … */
export type FileOfCase = { name: string } & ({ text: string } | { gzip: string } | { rows: number })

/** A call as a driver reads it, but for the file, which becomes a path. `import_id` is that of the preceding call. */
export type CallOfCase =
  | { call: 'import_file' | 'upload'; file: FileOfCase; options?: Record<string, unknown> }
  | { call: 'wait_for_import'; import_id?: string }
  | { call: 'export'; keys?: readonly string[] }
  | { call: 'update_profile'; user_id: string; entries: readonly unknown[] }
  | { call: 'register_users' | 'request_deletion'; user_ids: readonly string[] }
  | { call: 'verify_webhook'; age: number; signedBody: string; body: string }

/** What a driver prints. */
export type Outcome =
  | { result: unknown }
  | {
      error: {
        kind: 'api' | 'network' | 'upload' | 'import_failed' | 'export_failed' | 'other'
        status?: number | null
        code?: number | string | null
        messages?: readonly (string | RegExp)[]
        /** Seconds. */
        retry_after?: number | null
        /** State of the import or export. */
        state?: string | null
      }
    }

export interface Case {
  name: string
  /** User IDs that are registered, or the number of the users `user-0` … Default: `alice`. */
  users?: readonly string[] | number
  /** Instead of the app's token. */
  token?: string
  /** Seconds. Default: 30. The patience for outages is always 60 s. */
  patience?: number
  /** A call of the same driver that precedes the call, and the steps of its requests. */
  before?: CallOfCase
  serverBefore?: Partial<Record<Route, readonly Step[]>>
  call: CallOfCase
  /** The steps of the first requests of each route. Further requests pass. */
  server?: Partial<Record<Route, readonly Step[]>>
  /** Only the members that are named are compared. A regular expression must match. */
  outcome: { result: unknown } | Outcome
  /** Number of requests by route. Other routes may have any number. */
  requests?: Partial<Record<Route, number>>
  /** Number of different idempotency keys by route. */
  keys?: Partial<Record<Route, number>>
  /** Number of user IDs in each request of the call, repetitions left out. */
  batches?: readonly number[]
  /** Number of imports that the calls requested. */
  imports?: number
  /** Members of the first request. */
  announced?: Record<string, unknown>
  /** Text of the exported file. An app that serves several runs has more users than the case registers. */
  exported?: RegExp
  /** The call must take at least this long, ms. */
  tookMs?: number
}
