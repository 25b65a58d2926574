import type { ImportView, NewKeys, UploadDescriptor } from '@sluice/contract/answers'
import { limits } from '@sluice/contract/limits'
import type { ValueType } from '@sluice/contract/value-type'
import { checksumOf, ofFile } from './checksum.ts'
import type { Connection } from './connection.ts'
import { SluiceError, UnexpectedAnswerError, UploadError } from './errors.ts'
import { refuseUnknown } from './option-names.ts'
import { Retries } from './retries.ts'
import { putFile, stallTimeoutMs } from './second-request.ts'

export const importsPath = '/v3/user_profiles/bulk_import'

export const importPath = (importId: string) => `${importsPath}/${encodeURIComponent(importId)}`

/** What an import is doing. `bytes` counts from 0 again if a broken upload is repeated. */
export type ImportProgress =
  | { phase: 'checksum' | 'upload'; bytes: number; totalBytes: number }
  | { phase: 'processing'; view: ImportView }

/** Bounds above which an import is held: percentages of all rows, and a number of keys. At least one is set. */
export interface HoldBounds {
  failed_percent?: number
  changed_percent?: number
  removed_percent?: number
  new_keys?: number
}

/** Options of an import. All are optional. */
export interface ImportOptions {
  /** Name of the file for lists and mails. Default: the name of a `File`. */
  fileName?: string | undefined
  /** Default: by the extension of the name (`.csv`, `.gz`), else by the first bytes of the file. */
  contentType?: 'text/csv' | 'application/gzip' | undefined
  /** Check the whole file and report, apply nothing. */
  dryRun?: boolean | undefined
  /** Types of columns, by key, instead of inferred types. */
  profileTypes?: Readonly<Record<string, ValueType>> | undefined
  /** Default: the setting of the app. */
  newKeys?: NewKeys | undefined
  /** Keep what each row changes, for `changes` and the changes file. Default: the setting of the app. */
  keepChanges?: boolean | undefined
  /** Check the file first, and hold the import for approval above a bound. Default: the setting of the app. */
  holdIf?: 'always' | 'never' | HoldBounds | undefined
  /** A cell with this text removes the key from the user's profile. */
  clearMarker?: string | undefined
  /** Within 24 hours, all calls with the same key and file begin only one import. Default: a new key. */
  idempotencyKey?: string | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
  /** Ends the call. An import that has its file runs on; cancel it with `cancelImport`. */
  signal?: AbortSignal | undefined
}

const optionNames: Readonly<Record<keyof ImportOptions, true>> = {
  fileName: true,
  contentType: true,
  dryRun: true,
  profileTypes: true,
  newKeys: true,
  keepChanges: true,
  holdIf: true,
  clearMarker: true,
  idempotencyKey: true,
  onProgress: true,
  signal: true,
}

/**
 * Makes both requests of an import (second-day.md §4, Command line): declares the file, and sends it to storage. If the
 * file cannot be sent, cancels the import, for which later ones would wait. With a key of the caller's own it stays:
 * the same call may send the file later.
 *
 * Returns the import's ID. Throws {@link SluiceError}; a `TypeError` for a path, and for an option that does not exist.
 */
export async function uploadFile(connection: Connection, file: Blob, options: ImportOptions): Promise<string> {
  if (!(file instanceof Blob)) throw new TypeError('the file must be a Blob: in Node, await openAsBlob(path)')
  refuseUnknown(options, optionNames)
  if (file.size === 0) throw new SluiceError('the file is empty')
  const firstRequest = new FirstRequest(connection, await declare(file, options), options)
  try {
    return await sendFile(connection, file, options, firstRequest)
  } catch (error) {
    if (options.idempotencyKey === undefined) await firstRequest.withdraw().catch(() => {})
    throw error
  }
}

/**
 * Requests an import, and sends its file to storage. Repeats an upload that breaks off. If the address has expired, a
 * repetition of the first request returns a new one. Returns the import's ID.
 */
async function sendFile(
  connection: Connection,
  file: Blob,
  options: ImportOptions,
  firstRequest: FirstRequest,
): Promise<string> {
  const { signal } = options
  const report = reportBytes(file, options, 'upload')
  let requested = await firstRequest.send()
  let isRenewed = false
  const retries = new Retries(connection.outagePatienceMs, signal)
  for (;;) {
    let movedAt = performance.now()
    const onBytes = (bytes: number) => {
      movedAt = performance.now()
      report(bytes)
    }
    try {
      await putFile(connection, requested.upload, file, { onBytes, signal })
      return requested.importId
    } catch (error) {
      // Storage answers 403 when the address has expired. If storage refuses the new address as well, expiry is not the
      // reason.
      const isRefused = error instanceof UploadError && error.status === 403
      if (!isRefused) {
        await retries.pause(error, Math.min(performance.now() - movedAt, stallTimeoutMs))
        isRenewed = false
      } else if (isRenewed) throw error
      else {
        const renewed = await firstRequest.renew(requested, error)
        if (renewed === 'stored') return requested.importId
        // An earlier call with the same key may have begun the replacement of an expired import.
        isRenewed = renewed.importId === requested.importId
        requested = renewed
      }
    }
  }
}

function reportBytes(file: Blob, { onProgress }: ImportOptions, phase: 'checksum' | 'upload') {
  return (bytes: number) => onProgress?.({ phase, bytes, totalBytes: file.size })
}

/** Returns the body of the first request. */
async function declare(file: Blob, options: ImportOptions) {
  const name = nameOf(file, options)
  const onBytes = reportBytes(file, options, 'checksum')
  return {
    checksum: await checksumOf(file, { onBytes, signal: options.signal }),
    byte_size: String(file.size),
    content_type: options.contentType ?? (await contentTypeOf(file, name)),
    file_name: name,
    dry_run: options.dryRun,
    profile_types: options.profileTypes,
    new_keys: options.newKeys,
    keep_changes: options.keepChanges,
    hold_if: options.holdIf,
    clear_marker: options.clearMarker,
  }
}

/** An import that awaits its file. */
interface RequestedImport {
  importId: string
  upload: UploadDescriptor['direct_upload']
}

/** A caller waits for its error, so cancelling the import before it has a limit, ms. */
const withdrawalTimeoutMs = 5_000

/** The first request of a file, which can be repeated. */
class FirstRequest {
  readonly #connection: Connection
  readonly #body: unknown
  #key: string
  readonly #signal: AbortSignal | undefined
  #importId: string | undefined

  constructor(connection: Connection, body: unknown, options: ImportOptions) {
    this.#connection = connection
    this.#body = body
    this.#key = options.idempotencyKey ?? crypto.randomUUID()
    this.#signal = options.signal
  }

  async send(patienceMs?: number): Promise<RequestedImport> {
    const key = { idempotencyKey: this.#key }
    const call = { method: 'POST', path: importsPath, body: this.#body, ...key, signal: this.#signal } as const
    const answer = await this.#connection.send<Partial<UploadDescriptor>>(call, patienceMs)
    const importId = answer.headers.get('x-import-id')
    if (importId === null || answer.body?.direct_upload === undefined)
      throw new UnexpectedAnswerError('the address is not an API of Sluice: its answer has no X-Import-Id')
    this.#importId = importId
    return { importId, upload: answer.body.direct_upload }
  }

  /** Cancels the import if it still awaits its file. */
  async withdraw(): Promise<void> {
    if (this.#importId === undefined) return
    const signal = AbortSignal.timeout(withdrawalTimeoutMs)
    const { state } = await importView(this.#connection, this.#importId, signal, 0)
    const path = importPath(this.#importId)
    if (state === 'awaiting_upload') await this.#connection.send({ method: 'DELETE', path, signal }, 0)
  }

  /**
   * Returns a new address after storage has refused the old one. If the import has expired meanwhile, another import
   * replaces it. Returns `stored` if a preceding upload arrived although its answer was lost. Throws the refusal if the
   * old address is still the current one.
   */
  async renew({ importId, upload }: RequestedImport, refusal: UploadError): Promise<RequestedImport | 'stored'> {
    const patienceMs = this.#connection.outagePatienceMs
    // A repeated first request returns an outdated address unless the import awaits its file.
    const { state } = await importView(this.#connection, importId, this.#signal, patienceMs)
    if (state !== 'awaiting_upload' && state !== 'expired') return 'stored'
    // All calls with the same key find the same replacement.
    if (state === 'expired') this.#key = importId
    const renewed = await this.send(patienceMs)
    if (renewed.upload.url === upload.url) throw refusal
    return renewed
  }
}

/** Returns an import as the API shows it. */
export async function importView(
  connection: Connection,
  importId: string,
  signal?: AbortSignal | undefined,
  patienceMs?: number | undefined,
): Promise<ImportView> {
  return (await connection.send<ImportView>({ path: importPath(importId), signal }, patienceMs)).body
}

/** Returns the name of a file without its folder, as far as the API accepts it. */
function nameOf(file: Blob, { fileName }: ImportOptions): string | undefined {
  const name = fileName ?? ('name' in file && typeof file.name === 'string' ? file.name : undefined)
  if (name === undefined) return undefined
  return Array.from(name.toWellFormed().replaceAll('\0', '\ufffd')).slice(0, limits.fileNameLength).join('')
}

/**
 * Returns the content type by the extension of the name, or by the first bytes if the extension is unknown
 * (design.md §2, Upload).
 */
async function contentTypeOf(file: Blob, name: string | undefined): Promise<'text/csv' | 'application/gzip'> {
  if (name !== undefined && /\.(gz|gzip)$/i.test(name)) return 'application/gzip'
  if (name !== undefined && /\.csv$/i.test(name)) return 'text/csv'
  const [first, second] = new Uint8Array(await ofFile(file.slice(0, 2).arrayBuffer()))
  return first === 0x1f && second === 0x8b ? 'application/gzip' : 'text/csv'
}
