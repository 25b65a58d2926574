export { ObjectGone, ObjectReplaced, StorageFull, StorageRefusal } from './errors.ts'
export { openStorage } from './open-storage.ts'
export type { ListedObject, ObjectMetadata, Storage, UploadTerms } from './storage.ts'
export { lastWriteHours, lastWriteMs, type StorageSettings, storageSettings } from './storage-settings.ts'
