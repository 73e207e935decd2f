/** The bytes behind a view or buffer, copied: their owner may go on using the memory. */
export function copyOf(value: ArrayBufferView | ArrayBuffer | SharedArrayBuffer): Uint8Array {
  // Not value.slice(): a Buffer's shares its memory.
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice()
    : new Uint8Array(value).slice();
}

/** The same memory as a Buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
