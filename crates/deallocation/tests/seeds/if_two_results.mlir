func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %r:2 = scf.if %c -> (memref<8xf32>, memref<8xf32>) {
    %a = memref.alloc() : memref<8xf32>
    %b = memref.alloc() : memref<8xf32>
    scf.yield %a, %b : memref<8xf32>, memref<8xf32>
  } else {
    %a = memref.alloc() : memref<8xf32>
    scf.yield %a, %a : memref<8xf32>, memref<8xf32>
  }
  "test.use"(%r#1) : (memref<8xf32>) -> ()
  "test.use"(%r#0) : (memref<8xf32>) -> ()
  "test.end"() : () -> ()
  return
}
