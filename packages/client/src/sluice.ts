import type {
  ImportList,
  ImportSource,
  ImportState,
  ImportView,
  ProfileEntry,
  ProfileKeysAnswer,
  ProfileKeyView,
  ProfileUpdateAnswer,
  UserDocument,
} from '@sluice/contract/answers'
import { limits } from '@sluice/contract/limits'
import type { ValueType } from '@sluice/contract/value-type'
import { batchesOf, type Values } from './batches.ts'
import { type ApiCall, Connection, type ConnectionOptions } from './connection.ts'
import { pollUntilEnd } from './ends.ts'
import { ImportFailedError } from './errors.ts'
import { type ExportedFile, type ExportOptions, exportFile } from './export-file.ts'
import { type ImportOptions, importPath, importsPath, importView, uploadFile } from './import-file.ts'
import { refuseUnknown } from './option-names.ts'

/** Options of any call. */
export interface CallOptions {
  /** Ends the call. */
  signal?: AbortSignal | undefined
}

export interface UndoOptions extends CallOptions {
  /** Count what would be taken back, and change nothing. */
  dryRun?: boolean | undefined
  /** Within 24 hours, all calls with the same key begin only one undo. Default: a new key. */
  idempotencyKey?: string | undefined
}

export interface ImportFilters extends CallOptions {
  state?: ImportState | undefined
  source?: ImportSource | undefined
}

/** A client of one app. Every call repeats requests after temporary failures, and throws `SluiceError`. */
export class Sluice {
  readonly #connection: Connection

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection(options)
  }

  /**
   * Imports a CSV file, plain or compressed with gzip: computes the checksum, makes both requests, and waits for the
   * end.
   *
   * Returns the completed import, which may have invalid rows: see `rows_failed` and `error_file_url`. Throws
   * {@link ImportFailedError} if the import fails, is cancelled, expires, or is held for approval.
   */
  async import(file: Blob, options: ImportOptions = {}): Promise<ImportView> {
    const importId = await this.upload(file, options)
    const view = await this.waitForImport(importId, { ...options, isUploaded: true })
    if (view.state !== 'completed') throw new ImportFailedError(view)
    return view
  }

  /** Does the first half of {@link import}: returns the import's ID as soon as storage has the file. */
  async upload(file: Blob, options: ImportOptions = {}): Promise<string> {
    return await uploadFile(this.#connection, file, options)
  }

  /**
   * Does the second half of {@link import}: returns the import when it has ended or is held, in whatever state. With
   * `isUploaded`, {@link upload} has returned its ID, so an import that expired during a slow upload has not ended.
   */
  async waitForImport(
    importId: string,
    { onProgress, signal, isUploaded }: Pick<ImportOptions, 'onProgress' | 'signal'> & { isUploaded?: boolean } = {},
  ): Promise<ImportView> {
    const onView = (view: ImportView) => onProgress?.({ phase: 'processing', view })
    return await pollUntilEnd(this.#connection, importPath(importId), {
      onView,
      signal,
      waits: true,
      ...(isUploaded !== undefined && { isUploaded }),
    })
  }

  /** Returns an import. Throws `NotFoundError` if the app has no such import. */
  async showImport(importId: string, { signal }: CallOptions = {}): Promise<ImportView> {
    return await importView(this.#connection, importId, signal)
  }

  /**
   * Cancels an import that waits, runs or is held; rows that were applied stay applied. Returns the import. Throws
   * `ConflictError` if it has ended already.
   */
  async cancelImport(importId: string, { signal }: CallOptions = {}): Promise<ImportView> {
    return await this.#send({ method: 'DELETE', path: importPath(importId), signal })
  }

  /** Approves a held import, which is then applied. Returns the import. Throws `ConflictError` if it is not held. */
  async approveImport(importId: string, { signal }: CallOptions = {}): Promise<ImportView> {
    return await this.#send({ method: 'POST', path: `${importPath(importId)}/approve`, signal })
  }

  /**
   * Queues an import that takes back what another one changed; `keepChanges` must have been true. With `dryRun`, it
   * only counts. Returns the new import. Throws `ConflictError` if the import cannot be undone.
   */
  async undoImport(importId: string, options: UndoOptions = {}): Promise<ImportView> {
    refuseUnknown(options, { dryRun: true, idempotencyKey: true, signal: true })
    const { dryRun, idempotencyKey = crypto.randomUUID(), signal } = options
    const path = `${importPath(importId)}/undo`
    return await this.#send({ method: 'POST', path, body: { dry_run: dryRun }, idempotencyKey, signal })
  }

  /** Iterates over the app's imports, newest request first. Reads the next page when the iteration needs it. */
  async *imports({ state, source, signal }: ImportFilters = {}): AsyncGenerator<ImportView, void, undefined> {
    const query = new URLSearchParams({ limit: String(limits.importsPerPage) })
    if (state !== undefined) query.set('state', state)
    if (source !== undefined) query.set('source', source)
    for (;;) {
      const page = await this.#send<ImportList>({ path: `${importsPath}?${query}`, signal })
      yield* page.imports
      if (page.next_cursor === null) return
      query.set('cursor', page.next_cursor)
    }
  }

  /**
   * Updates values of one user, all or none. Returns the applied values; datetimes are in UTC. Throws
   * `UnregisteredUserError` or `InvalidProfileError`.
   *
   * This request has no idempotency key. If its answer is lost, the values are written twice.
   */
  async updateProfile(
    userId: string,
    entries: readonly ProfileEntry[],
    { signal }: CallOptions = {},
  ): Promise<ProfileUpdateAnswer> {
    const body = { user_id: userId, user_profiles: entries }
    return await this.#send({ method: 'POST', path: '/v2/user_profiles', body, signal })
  }

  /** Removes a user's value. Throws `NotFoundError` if the user or the key is not registered. */
  async clearValue(userId: string, key: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `/v1/users/${encodeURIComponent(userId)}/profiles/${encodeURIComponent(key)}`
    await this.#send({ method: 'DELETE', path, signal })
  }

  /** Returns a user with all values. Throws `NotFoundError` if the user is not registered. */
  async user(userId: string, { signal }: CallOptions = {}): Promise<UserDocument> {
    return await this.#send({ path: `/v1/users/${encodeURIComponent(userId)}`, signal })
  }

  /**
   * Registers users, in requests of at most 10,000. If the call fails, users of preceding requests are registered;
   * registering them again is harmless.
   */
  async registerUsers(userIds: Values<string>, { signal }: CallOptions = {}): Promise<void> {
    for await (const batch of batchesOf(userIds, limits.userIdsPerRequest)) {
      await this.#post('/v1/users', { user_ids: batch }, signal)
    }
  }

  /** Requests the deletion of users' data, in requests of at most 10,000. A deletion cannot be cancelled. */
  async deleteUsers(userIds: Values<string>, { signal }: CallOptions = {}): Promise<void> {
    for await (const batch of batchesOf(userIds, limits.userIdsPerRequest)) {
      await this.#post('/v3/user_data_deletions', { identity_type: 'user_id', identity_value: batch }, signal)
    }
  }

  /** Returns the app's profile keys with their types, enabled or not. */
  async keys({ signal }: CallOptions = {}): Promise<ProfileKeyView[]> {
    return (await this.#send<ProfileKeysAnswer>({ path: '/v1/profile_keys', signal })).profile_keys
  }

  /** Registers keys with their types, all or none. Throws `ConflictError` if a key has another type already. */
  async registerKeys(
    types: Readonly<Record<string, ValueType>>,
    { signal }: CallOptions = {},
  ): Promise<ProfileKeyView[]> {
    const keys = Object.entries(types).map(([key, type]) => ({ key, type }))
    return (await this.#post<ProfileKeysAnswer>('/v1/profile_keys', { profile_keys: keys }, signal)).profile_keys
  }

  /**
   * Enables, disables or describes a key; an empty description removes it. Returns the key. Throws `NotFoundError` if
   * it is not registered, and `ConflictError` if enabling it would exceed the limit of keys.
   */
  async changeKey(
    key: string,
    change: { enabled?: boolean; description?: string | null },
    { signal }: CallOptions = {},
  ): Promise<ProfileKeyView> {
    const path = `/v1/profile_keys/${encodeURIComponent(key)}`
    return await this.#send({ method: 'PATCH', path, body: change, signal })
  }

  /**
   * Exports all registered users with their values, or the values of some keys. Returns the export with a stream of its
   * file. Throws `ExportFailedError`.
   */
  async export(options: ExportOptions = {}): Promise<ExportedFile> {
    return await exportFile(this.#connection, options)
  }

  /** Sends a request with an idempotency key of its own. */
  async #post<Body>(path: string, body: unknown, signal: AbortSignal | undefined): Promise<Body> {
    return await this.#send({ method: 'POST', path, body, idempotencyKey: crypto.randomUUID(), signal })
  }

  /** Sends a request. Returns the body of its answer. */
  async #send<Body>(call: ApiCall): Promise<Body> {
    return (await this.#connection.send<Body>(call)).body
  }
}
