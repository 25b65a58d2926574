export { ObjectGone, ObjectReplaced, type RefusalCode, StorageFull, StorageRefusal } from './errors.ts'
export { lastWriteHours } from './last-write.ts'
export {
  type ListedObject,
  maxRelayRequests,
  openRelay,
  type Relay,
  type RelayedMetadata,
  type RelayedObject,
} from './relay.ts'
export { openStorage, type Storage, type UploadTerms } from './storage.ts'
export { type StorageSettings, storageSettings } from './storage-settings.ts'
