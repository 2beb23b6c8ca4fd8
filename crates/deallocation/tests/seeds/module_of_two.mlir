module @m {
  func.func @f() {
    %a = memref.alloc() : memref<8xf32>
    "test.use"(%a) : (memref<8xf32>) -> ()
    "test.end"() : () -> ()
    return
  }
  func.func @g(%x: memref<8xf32>) {
    %a = bufferization.clone %x : memref<8xf32> to memref<8xf32>
    func.call @f() : () -> ()
    return
  }
}
