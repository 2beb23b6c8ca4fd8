module {
  func.func @f(%arg0: i1, %arg1: index, %arg2: memref<8xf32>, %arg3: memref<8xf32>) {
    %false = arith.constant false
    %false_0 = arith.constant false
    %base_buffer, %offset, %sizes, %strides = memref.extract_strided_metadata %arg2 : memref<8xf32> -> memref<f32>, index, index, index
    %base_buffer_1, %offset_2, %sizes_3, %strides_4 = memref.extract_strided_metadata %arg3 : memref<8xf32> -> memref<f32>, index, index, index
    %0 = arith.andi %false, %arg0 : i1
    %1 = arith.andi %false_0, %arg0 : i1
    bufferization.dealloc (%base_buffer, %base_buffer_1 : memref<f32>, memref<f32>) if (%0, %1)
    %true = arith.constant true
    %2 = arith.xori %true, %arg0 : i1
    %3 = arith.andi %false, %2 : i1
    %true_5 = arith.constant true
    %4 = arith.xori %true_5, %arg0 : i1
    %5 = arith.andi %false_0, %4 : i1
    %6 = bufferization.dealloc (%base_buffer, %base_buffer_1 : memref<f32>, memref<f32>) if (%3, %5) retain (%arg2 : memref<8xf32>)
    cf.cond_br %arg0, ^bb1, ^bb2
  ^bb1:  // pred: ^bb0
    %true_6 = arith.constant true
    %alloc = memref.alloc() : memref<8xf32>
    %base_buffer_7, %offset_8, %sizes_9, %strides_10 = memref.extract_strided_metadata %alloc : memref<8xf32> -> memref<f32>, index, index, index
    %7 = bufferization.dealloc (%base_buffer_7 : memref<f32>) if (%true_6) retain (%alloc : memref<8xf32>)
    cf.br ^bb3(%alloc, %7 : memref<8xf32>, i1)
  ^bb2:  // pred: ^bb0
    %base_buffer_11, %offset_12, %sizes_13, %strides_14 = memref.extract_strided_metadata %arg2 : memref<8xf32> -> memref<f32>, index, index, index
    %8 = bufferization.dealloc (%base_buffer_11 : memref<f32>) if (%6) retain (%arg2 : memref<8xf32>)
    cf.br ^bb3(%arg2, %8 : memref<8xf32>, i1)
  ^bb3(%9: memref<8xf32>, %10: i1):  // 2 preds: ^bb1, ^bb2
    %base_buffer_15, %offset_16, %sizes_17, %strides_18 = memref.extract_strided_metadata %9 : memref<8xf32> -> memref<f32>, index, index, index
    %11 = arith.andi %10, %arg0 : i1
    %12 = bufferization.dealloc (%base_buffer_15 : memref<f32>) if (%11) retain (%9 : memref<8xf32>)
    %true_19 = arith.constant true
    %13 = arith.xori %true_19, %arg0 : i1
    %14 = arith.andi %10, %13 : i1
    bufferization.dealloc (%base_buffer_15 : memref<f32>) if (%14)
    cf.cond_br %arg0, ^bb4(%9, %12 : memref<8xf32>, i1), ^bb5
  ^bb4(%15: memref<8xf32>, %16: i1):  // pred: ^bb3
    %17 = memref.load %15[%arg1] : memref<8xf32>
    %base_buffer_20, %offset_21, %sizes_22, %strides_23 = memref.extract_strided_metadata %15 : memref<8xf32> -> memref<f32>, index, index, index
    bufferization.dealloc (%base_buffer_20 : memref<f32>) if (%16)
    cf.br ^bb5
  ^bb5:  // 2 preds: ^bb3, ^bb4
    return
  }
}
