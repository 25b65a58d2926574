import { setTimeout as delay } from 'node:timers/promises'
import type { Settings } from '@sluice/config'
import type { ImportContext, ImportId } from '../context.ts'
import type { WakeWorker } from '../order/dispatch.ts'
import { queueUpload } from './notice-uploads.ts'

/** The shortest pause before storage is asked, ms. */
const shortestPauseMs = 20

/** A pause is this share of the time since the address was handed out: a slow upload may be noticed later. */
const pauseShare = 0.1

/** No file arrives faster than this, bytes per ms, so storage is not asked for a large file before. */
const fastestUpload = 200_000

/** Maximum number of uploads that a process watches, and of its requests to storage in flight. */
const mostWatched = 1_000
const mostRequests = 16

/** Settings that {@link openUploadWatch} needs. */
export const uploadWatchSettings = ['UPLOAD_CHECK_INTERVAL'] as const

type WatchContext = Pick<ImportContext, 'db' | 'storage' | 'log'> & {
  settings: Settings<(typeof uploadWatchSettings)[number]>
}

/** An import whose upload address was handed out, and the size of the file that its client declared, bytes. */
interface AwaitedFile extends ImportId {
  objectKey: string
  byteSize: number
}

/** Looks for uploads from the moment at which their addresses are handed out. */
export interface UploadWatch {
  watch(file: AwaitedFile): void
  /** Ends all watches. Maintenance notices the uploads. */
  close(): void
}

/**
 * Opens the watch of a process over the uploads whose addresses it hands out (changes.md §5). Storage is asked at once,
 * then less and less often, and no longer when maintenance asks as often. First requests are limited, so the cost is
 * bounded, and an idle process asks nothing.
 */
export function openUploadWatch(context: WatchContext, wake: WakeWorker): UploadWatch {
  const { storage, settings, log } = context
  const closing = new AbortController()
  let [watched, requests] = [0, 0]

  async function isStored(file: AwaitedFile): Promise<boolean> {
    // Storage is asked again after the next pause.
    if (requests >= mostRequests) return false
    requests++
    const stored = await storage.stat(file.objectKey).finally(() => requests--)
    if (stored === undefined) return false
    if ((await queueUpload(context, file, stored)) > 0) wake(file.appId)
    return true
  }

  async function watch(file: AwaitedFile): Promise<void> {
    const began = performance.now()
    let pauseMs = Math.max(shortestPauseMs, file.byteSize / fastestUpload)
    while (pauseMs < settings.UPLOAD_CHECK_INTERVAL) {
      await delay(pauseMs, undefined, { signal: closing.signal, ref: false })
      if (await isStored(file)) return
      pauseMs = Math.max(shortestPauseMs, (performance.now() - began) * pauseShare)
    }
  }

  return {
    watch(file) {
      if (watched >= mostWatched) return
      watched++
      watch(file)
        .catch((error: unknown) => {
          if (!closing.signal.aborted) log.warn({ import_id: file.importId, err: error }, 'upload not watched')
        })
        .finally(() => watched--)
    },
    close: () => closing.abort(),
  }
}
